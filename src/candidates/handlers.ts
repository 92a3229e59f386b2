/**
 * The handlers of the paid reads. A key of the test environment reads fictional candidates; every
 * other caller reads real ones.
 */
import type { Caller } from '../platform/http/callers.ts'
import { jsonLdType } from '../platform/http/contract.ts'
import type { Answer, Handlers } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import type { candidateContract } from './contract.ts'
import type { CandidateReads, CredentialRead } from './reads.ts'

export interface CandidatesOptions {
  live: CandidateReads
  sandbox: CandidateReads
}

export function candidateHandlers({
  live,
  sandbox,
}: CandidatesOptions): Handlers<typeof candidateContract> {
  const readsFor = (caller: Caller): CandidateReads =>
    caller.kind === 'key' && caller.environment === 'test' ? sandbox : live
  return {
    async searchCandidates({ query, caller }) {
      const text = await readsFor(caller).search(query.q, Number(query.limit))
      return { status: 200, body: undefined, text }
    },
    async getCandidate({ path, caller }) {
      const body = await readsFor(caller).candidate(path.username)
      return body === null ? refuse('candidate_not_found') : { status: 200, body }
    },
    async getScore({ path, caller }) {
      const body = await readsFor(caller).score(path.scoreId)
      return body === null ? refuse('score_not_found') : { status: 200, body }
    },
    async getScoreCredential({ path, query, caller }) {
      return credentialAnswer(await readsFor(caller).credential(path.scoreId, query.proof))
    },
  }
}

function credentialAnswer(read: CredentialRead): Answer {
  if ('credential' in read) return { status: 200, body: read.credential, contentType: jsonLdType }
  if (read.missing === 'score') return refuse('score_not_found')
  if (read.missing === 'credential') return refuse('score_credential_not_found')
  return refuse('signing_not_configured', {
    message: 'The key that signed this credential is not on this machine. Send proof=native.',
  })
}
