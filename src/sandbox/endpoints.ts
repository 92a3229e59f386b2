/**
 * The endpoints of the sandbox: candidates and scores for signed-in users, and the public status of
 * sandbox credentials at the addresses in these credentials.
 */
import { examples } from '../candidates/examples.ts'
import {
  candidateDetail,
  type PublicScore,
  scoreIdPath,
  searchQuery,
  searchResult,
  usernamePath,
} from '../candidates/schema.ts'
import type { Clock } from '../platform/clock.ts'
import { commonResponses, sessionResponses } from '../platform/http/contract.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { exampleCredential, exampleStatusList, examplesFor } from '../score-credentials/examples.ts'
import type { Origin } from '../score-credentials/payload.ts'
import {
  credentialStatus,
  listFormOf,
  statusListCredential,
  statusListPathParameters,
  statusListQuery,
  statusTokenPath,
  statusTokenQuery,
} from '../score-credentials/schema.ts'
import { statusBody } from '../score-credentials/status-endpoints.ts'
import { sandboxListPath, sandboxStatusPath } from './credentials.ts'
import type { Sandbox } from './open.ts'
import { sandboxScore } from './schema.ts'

export interface SandboxOptions {
  sandbox: Sandbox
  clock: Clock
}

export function sandboxEndpoints({ sandbox, clock }: SandboxOptions): Endpoint[] {
  return [...readEndpoints(sandbox), ...statusEndpoints({ sandbox, clock })]
}

const path = '/api/account/developer/sandbox'

function readEndpoints({ reads, origin }: Sandbox): Endpoint[] {
  const common = {
    method: 'GET',
    area: 'sandbox',
    policy: { kind: 'session' },
    priority: 'search',
  } as const
  return [
    endpoint({
      ...common,
      operationId: 'searchSandboxCandidates',
      path: `${path}/candidates/search`,
      summary: 'Search fictional candidates',
      description: 'As searchCandidates, among people who do not exist. Nothing is charged.',
      queryParameters: searchQuery,
      responses: {
        200: { description: 'Previews in order.', schema: searchResult, example: examples.search },
        ...sessionResponses,
      },
      async answer({ query }) {
        const text = await reads.search(query.q, Number(query.limit))
        return { status: 200, body: undefined, text }
      },
    }),
    endpoint({
      ...common,
      operationId: 'getSandboxCandidate',
      path: `${path}/candidates/{username}`,
      summary: 'One fictional candidate',
      pathParameters: usernamePath,
      responses: {
        200: { description: 'The candidate.', schema: candidateDetail, example: examples.detail },
        ...sessionResponses,
        404: {
          description: 'Nobody in the sandbox has this username.',
          errors: ['candidate_not_found'],
        },
      },
      async answer({ path: { username } }) {
        const body = await reads.candidate(username)
        return body === null ? refuse('candidate_not_found') : { status: 200, body }
      },
    }),
    endpoint({
      ...common,
      operationId: 'getSandboxScore',
      path: `${path}/scores/{scoreId}`,
      summary: 'One fictional score with its credential',
      description:
        'The score as getScore shows it, its credential as getScoreCredential shows it, and where the status of the credential can be asked for.',
      pathParameters: scoreIdPath,
      responses: {
        200: {
          description: 'The score.',
          schema: sandboxScore,
          example: exampleScore(origin),
        },
        ...sessionResponses,
        404: {
          description: 'No score of the sandbox has this id.',
          errors: ['score_not_found'],
        },
      },
      async answer({ path: { scoreId } }) {
        const score = await reads.score(scoreId)
        if (score === null) return refuse('score_not_found')
        const read = await reads.credential(scoreId, 'native')
        const document = 'credential' in read ? read.credential : null
        return { status: 200, body: wireSandboxScore(score, document) }
      },
    }),
  ]
}

function wireSandboxScore(score: PublicScore, document: Record<string, unknown> | null) {
  return {
    schemaVersion: schemaVersion('sandbox_score'),
    score,
    credential: document && { form: 'native', document },
    statusUrl: score.scoreVc?.statusUrl ?? null,
    statusListUrl: score.scoreVc?.statusListCredential ?? null,
  }
}

function exampleScore(origin: Origin) {
  const credential = exampleCredential(origin)
  const { id, statusListCredential } = Object(credential.credentialStatus)
  const { sha256 = '' } = examples.score.scoreVc ?? {}
  const scoreVc = { sha256, statusUrl: id, statusListCredential }
  return wireSandboxScore({ ...examples.score, scoreVc }, credential)
}

function statusEndpoints({ sandbox, clock }: SandboxOptions): Endpoint[] {
  const { origin, statuses } = sandbox
  const common = {
    method: 'GET',
    area: 'sandbox',
    extension: true,
    policy: { kind: 'open' },
    priority: 'search',
  } as const
  return [
    endpoint({
      ...common,
      operationId: 'getSandboxCredentialStatus',
      path: `${sandboxStatusPath}{statusToken}`,
      summary: 'Whether a credential of the sandbox is revoked, by its status token',
      description: 'As getScoreCredentialStatus, for credentials of people who do not exist.',
      pathParameters: statusTokenPath,
      queryParameters: statusTokenQuery,
      responses: {
        200: {
          description: 'The status.',
          schema: credentialStatus,
          example: examplesFor(origin).status,
        },
        ...commonResponses,
        404: {
          description: 'No sandbox credential has this token, or none with this digest.',
          errors: ['status_token_not_found'],
        },
      },
      answer({ path, query }) {
        const revokedAt = statuses.revokedAt(path.statusToken, query.vcSha256)
        return revokedAt === undefined
          ? refuse('status_token_not_found')
          : { status: 200, body: statusBody(revokedAt, clock()) }
      },
    }),
    endpoint({
      ...common,
      operationId: 'getSandboxStatusList',
      path: `${sandboxListPath}{listId}`,
      summary: 'The signed list of revocations in the sandbox (W3C Bitstring Status List)',
      description:
        'As getScoreCredentialStatusList. The key that signs it is public, so it proves nothing.',
      document: true,
      pathParameters: statusListPathParameters,
      queryParameters: statusListQuery,
      responses: {
        200: {
          description: 'The signed list.',
          schema: statusListCredential,
          contentType: 'application/ld+json',
          example: exampleStatusList(origin),
        },
        ...commonResponses,
        404: { description: 'There is no such list.', errors: ['status_list_not_found'] },
      },
      answer({ path, query }) {
        const document = statuses.list(path.listId, listFormOf(query))
        return document === null ? refuse('status_list_not_found') : { document }
      },
    }),
  ]
}
