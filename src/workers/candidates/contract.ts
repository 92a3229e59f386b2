/** The paid reads. */
import { exampleCredential } from '../../credentials/examples.ts'
import { type Contract, jsonLdType } from '../../edge/http/contract.ts'
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
  402: { description: 'Too few credits for the API key; without a key, a payment challenge.' },
  403: { description: 'The API key lacks the scope of this route.' },
  429: { description: 'Too many calls, not-found answers, or failed attempts to authenticate.' },
  500: { description: 'The service failed while it answered.' },
  503: { description: 'The service is not available. Nothing unpaid is served.' },
} as const

const scoreRead = {
  method: 'GET',
  area: 'scores',
  policy: { kind: 'paid', scope: 'scores:read', meter: 'score_lookup', limits: 'keyLimits' },
  priority: 'read',
  pathParameters: scoreIdPath,
} as const

const credentialResponses = {
  200: {
    description: 'The credential. Store and present it unchanged.',
    schema: scoreCredential,
    contentType: jsonLdType,
    example: exampleCredential(),
  },
  ...paidResponses,
  404: {
    description: 'There is no such public score, or it has no credential. Nothing is charged.',
    errors: ['score_not_found', 'score_credential_not_found'],
  },
  503: {
    description: `${paidResponses[503].description} Also if the signing key is not on this machine.`,
    errors: [
      'overloaded',
      'unavailable',
      'metering_suspended',
      'payment_facilitator_unavailable',
      'payment_settlement_pending',
      'signing_not_configured',
    ],
  },
} as const satisfies Contract[string]['responses']

export const candidateContract = {
  searchCandidates: {
    method: 'GET',
    path: '/api/v1/candidates/search',
    area: 'candidates',
    summary: 'Search public candidates',
    description:
      'Finds candidates by the beginning of a handle, skill, display name or title, in this order. Among equals, more verified skills that match come first, then more verified skills, then the username. A search without a result costs the same. If more candidates match, a Link header leads to the next page.',
    policy: {
      kind: 'paid',
      scope: 'candidates:read',
      meter: 'candidate_search',
      limits: 'keyLimits',
    },
    priority: 'search',
    queryParameters: searchQuery,
    responses: {
      200: {
        description: 'Previews, best match first.',
        schema: searchResult,
        hasNextLink: true,
        example: examples.search,
      },
      ...paidResponses,
    },
  },
  getCandidate: {
    method: 'GET',
    path: '/api/v1/candidates/{username}',
    area: 'candidates',
    summary: 'One public candidate',
    description:
      'Returns the profile of a candidate, with the score if the candidate shares it. The Link header leads to the score and to its credential. A hidden profile and an unknown username get the same answer.',
    policy: {
      kind: 'paid',
      scope: 'candidates:read',
      meter: 'candidate_lookup',
      limits: 'keyLimits',
    },
    priority: 'read',
    pathParameters: usernamePath,
    responses: {
      200: {
        description: 'The candidate.',
        schema: candidateDetail,
        hasScoreLinks: true,
        example: examples.detail,
      },
      ...paidResponses,
      404: {
        description: 'No public candidate has this username. Nothing is charged.',
        errors: ['candidate_not_found'],
      },
    },
  },
  getScore: {
    ...scoreRead,
    path: '/api/v1/scores/{scoreId}',
    summary: 'One public score',
    description:
      'Returns an active score, if its worker is onboarded, has a public profile and a verified identity, and consents to share the score.',
    responses: {
      200: { description: 'The score.', schema: publicScore, example: examples.score },
      ...paidResponses,
      404: {
        description: 'No public score has this id. Nothing is charged.',
        errors: ['score_not_found'],
      },
    },
  },
  getCandidateCredential: {
    ...scoreRead,
    path: '/api/v1/candidates/{username}/credential',
    summary: 'The signed credential of one public candidate',
    description:
      'Returns the credential of the public score of a candidate, as getScoreCredential does by the id of the score. A hidden score and an unknown username get the same answer.',
    extension: true,
    pathParameters: usernamePath,
    queryParameters: proofQuery,
    responses: credentialResponses,
  },
  getScoreCredential: {
    ...scoreRead,
    path: '/api/v1/scores/{scoreId}/credential',
    summary: 'The signed credential of one public score',
    description:
      'Returns the credential of a score that getScore returns. All forms of proof cover the same payload, so digest and status are the same. A form other than native is signed on request, by the key that signed the credential.',
    extension: true,
    queryParameters: proofQuery,
    responses: credentialResponses,
  },
} satisfies Contract
