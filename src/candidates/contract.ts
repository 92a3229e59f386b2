/** The paid reads. */
import { type Contract, jsonLdType } from '../platform/http/contract.ts'
import { exampleCredential } from '../score-credentials/examples.ts'
import { examples } from './examples.ts'
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

const scoreRead = {
  method: 'GET',
  area: 'scores',
  policy: { kind: 'paid', scope: 'scores:read', meter: 'score_lookup', limits: 'key' },
  priority: 'read',
  pathParameters: scoreIdPath,
} as const

export const candidateContract = {
  searchCandidates: {
    method: 'GET',
    path: '/api/v1/candidates/search',
    area: 'candidates',
    summary: 'Search public candidates',
    description:
      'Finds by the beginning of a handle, skill, display name or title, in this order; then who has more verified skills that match, more verified skills, and by username. A search that finds nobody is an answer and costs what any answer costs.',
    policy: { kind: 'paid', scope: 'candidates:read', meter: 'candidate_search', limits: 'key' },
    priority: 'search',
    queryParameters: searchQuery,
    responses: {
      200: { description: 'Previews in order.', schema: searchResult, example: examples.search },
      ...paidResponses,
    },
  },
  getCandidate: {
    method: 'GET',
    path: '/api/v1/candidates/{username}',
    area: 'candidates',
    summary: 'One public candidate',
    policy: { kind: 'paid', scope: 'candidates:read', meter: 'candidate_lookup', limits: 'key' },
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
  },
  getScore: {
    ...scoreRead,
    path: '/api/v1/scores/{scoreId}',
    summary: 'One public score',
    description:
      'Only the score that stands, of an onboarded public profile whose identity is verified and who lets it be shared.',
    responses: {
      200: { description: 'The score.', schema: publicScore, example: examples.score },
      ...paidResponses,
      404: {
        description: 'No public score has this id. Nothing is charged.',
        errors: ['score_not_found'],
      },
    },
  },
  getScoreCredential: {
    ...scoreRead,
    path: '/api/v1/scores/{scoreId}/credential',
    summary: 'The signed credential of one public score',
    description:
      'Of the scores that getScore shows. All forms of proof are over the same payload: one digest, one status. Whatever is not native is signed when it is asked for, by the key that signed the credential.',
    extension: true,
    queryParameters: proofQuery,
    responses: {
      200: {
        description: 'The credential, to be kept and presented exactly as it is.',
        schema: scoreCredential,
        contentType: jsonLdType,
        example: exampleCredential(),
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
  },
} satisfies Contract
