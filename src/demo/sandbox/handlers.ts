/** The handlers of the sandbox. */
import { statusDocumentOf } from '../../credentials/documents.ts'
import { listFormOf } from '../../credentials/schema.ts'
import type { Handlers } from '../../edge/http/endpoint.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import type { Clock } from '../../platform/clock.ts'
import { refuse } from '../../platform/errors.ts'
import { searchAnswer } from '../../workers/candidates/handlers.ts'
import { sandboxContract } from './contract.ts'
import type { Sandbox } from './open.ts'

export interface SandboxOptions {
  sandbox: Sandbox
  clock: Clock
}

export function sandboxHandlers({
  sandbox: { reads, statuses },
  clock,
}: SandboxOptions): Handlers<typeof sandboxContract> {
  return {
    async searchSandboxCandidates({ query }) {
      return searchAnswer(reads, sandboxContract.searchSandboxCandidates.path, query)
    },
    async getSandboxCandidate({ path }) {
      const found = await reads.candidate(path.username)
      return found === null ? refuse('candidate_not_found') : { status: 200, body: found.detail }
    },
    async getSandboxScore({ path }) {
      const score = await reads.score(path.scoreId)
      if (score === null) return refuse('score_not_found')
      const read = await reads.credential(path, 'native')
      const body = {
        schemaVersion: schemaVersion('sandbox_score'),
        score,
        credential: 'credential' in read ? { form: 'native', document: read.credential } : null,
        statusUrl: score.scoreVc?.statusUrl ?? null,
        statusListUrl: score.scoreVc?.statusListCredential ?? null,
      }
      return { status: 200, body }
    },
    getSandboxCredentialStatus({ path, query }) {
      const revokedAt = statuses.revokedAt(path.statusToken, query.vcSha256)
      return revokedAt === undefined
        ? refuse('status_token_not_found')
        : { status: 200, body: statusDocumentOf(revokedAt, clock()) }
    },
    getSandboxStatusList({ path, query }) {
      const document = statuses.list(path.listId, listFormOf(query))
      return document === null ? refuse('status_list_not_found') : { document }
    },
  }
}
