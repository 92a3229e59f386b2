/** The paid reads (spec §4.4). Keys of the test environment reach fictional people alone, everybody else real ones alone. */
import type { Caller } from '../platform/http/callers.ts'
import type { RateLimits } from '../platform/http/contract.ts'
import { type Answer, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { exampleCredential } from '../score-credentials/examples.ts'
import type { Origin } from '../score-credentials/payload.ts'
import { examples } from './examples.ts'
import type { CandidateReads, CredentialRead } from './reads.ts'
import {
  candidateDetail,
  proofQuery,
  publicScore,
  scoreCredential,
  scoreIdPath,
  searchQuery,
  searchResult,
  usernamePath,
} from './schema.ts'

export interface CandidatesOptions {
  live: CandidateReads
  sandbox: CandidateReads
  /** In examples. */
  origin: Origin
  /** Of each key and of each payer. */
  limits: RateLimits
}

const paidResponses = {
  400: {
    description: 'Unsupported version, an invalid parameter, or unusable payment headers.',
  },
  401: { description: 'The API key is not valid.' },
  402: { description: 'Too few credits for callers with a key; else a challenge to pay.' },
  403: { description: 'The API key lacks the scope of this route.' },
  429: { description: 'Too many calls, misses, or failed attempts to authenticate.' },
  500: { description: 'Something went wrong on our side.' },
  503: { description: 'Not available just now; nothing is served that was not paid for.' },
} as const

export function candidateEndpoints({
  live,
  sandbox,
  origin,
  limits,
}: CandidatesOptions): Endpoint[] {
  const readsFor = (caller: Caller): CandidateReads =>
    caller.kind === 'key' && caller.environment === 'test' ? sandbox : live
  return [
    endpoint({
      operationId: 'searchCandidates',
      method: 'GET',
      path: '/api/v1/candidates/search',
      area: 'candidates',
      summary: 'Search public candidates',
      description:
        'Finds by the beginning of a handle, skill, display name or title, in this order; then who has more verified skills that match, more verified skills, and by username. A search that finds nobody is an answer and costs what any answer costs.',
      policy: { kind: 'paid', scope: 'candidates:read', meter: 'candidate_search', limits },
      priority: 'search',
      queryParameters: searchQuery,
      responses: {
        200: { description: 'Previews in order.', schema: searchResult, example: examples.search },
        ...paidResponses,
      },
      async answer({ query, caller }) {
        const text = await readsFor(caller).search(query.q, Number(query.limit))
        return { status: 200, body: undefined, text }
      },
    }),
    endpoint({
      operationId: 'getCandidate',
      method: 'GET',
      path: '/api/v1/candidates/{username}',
      area: 'candidates',
      summary: 'One public candidate',
      policy: { kind: 'paid', scope: 'candidates:read', meter: 'candidate_lookup', limits },
      priority: 'read',
      pathParameters: usernamePath,
      responses: {
        200: { description: 'The candidate.', schema: candidateDetail, example: examples.detail },
        ...paidResponses,
        404: {
          description: 'Nobody public has this username. Nothing is charged.',
          errors: ['candidate_not_found'],
        },
      },
      async answer({ path, caller }) {
        const body = await readsFor(caller).candidate(path.username)
        return body === null ? refuse('candidate_not_found') : { status: 200, body }
      },
    }),
    endpoint({
      operationId: 'getScore',
      method: 'GET',
      path: '/api/v1/scores/{scoreId}',
      area: 'scores',
      summary: 'One public score',
      description:
        'Only the score that stands, of an onboarded public profile whose identity is verified and who lets it be shared.',
      policy: { kind: 'paid', scope: 'scores:read', meter: 'score_lookup', limits },
      priority: 'read',
      pathParameters: scoreIdPath,
      responses: {
        200: { description: 'The score.', schema: publicScore, example: examples.score },
        ...paidResponses,
        404: {
          description: 'No public score has this id. Nothing is charged.',
          errors: ['score_not_found'],
        },
      },
      async answer({ path, caller }) {
        const body = await readsFor(caller).score(path.scoreId)
        return body === null ? refuse('score_not_found') : { status: 200, body }
      },
    }),
    endpoint({
      operationId: 'getScoreCredential',
      method: 'GET',
      path: '/api/v1/scores/{scoreId}/credential',
      area: 'scores',
      summary: 'The signed credential of one public score',
      description:
        'Of the scores that getScore shows. All forms of proof are over the same payload: one digest, one status. Whatever is not native is signed when it is asked for, by the key that signed the credential.',
      extension: true,
      policy: { kind: 'paid', scope: 'scores:read', meter: 'score_lookup', limits },
      priority: 'read',
      pathParameters: scoreIdPath,
      queryParameters: proofQuery,
      responses: {
        200: {
          description: 'The credential, to be kept and presented exactly as it is.',
          schema: scoreCredential,
          contentType: 'application/ld+json',
          example: exampleCredential(origin),
        },
        ...paidResponses,
        404: {
          description:
            'No public score has this id, or the score has no credential. Nothing is charged.',
          errors: ['score_not_found', 'score_credential_not_found'],
        },
        503: {
          description: `${paidResponses[503].description} Nor is a proof by a key that is not here.`,
          errors: [
            'overloaded',
            'unavailable',
            'metering_suspended',
            'payment_facilitator_unavailable',
            'payment_settlement_pending',
            'signing_not_configured',
          ],
        },
      },
      async answer({ path, query, caller }) {
        return credentialAnswer(await readsFor(caller).credential(path.scoreId, query.proof))
      },
    }),
  ]
}

function credentialAnswer(read: CredentialRead): Answer {
  if ('credential' in read)
    return { status: 200, body: read.credential, contentType: 'application/ld+json' }
  if (read.missing === 'score') return refuse('score_not_found')
  if (read.missing === 'credential') return refuse('score_credential_not_found')
  return refuse('signing_not_configured', {
    message: 'The key that signed this credential is not on this machine: ask for proof=native.',
  })
}
