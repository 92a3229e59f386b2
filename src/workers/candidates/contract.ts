/** The paid reads. */
import { exampleCredential } from '../../credentials/examples.ts'
import { type Contract, jsonLdType } from '../../edge/http/contract.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import {
  type CandidateDetail,
  candidateDetail,
  type PublicScore,
  proofQuery,
  publicScore,
  type SearchResult,
  scoreCredential,
  scoreIdPath,
  searchQuery,
  searchResult,
  usernamePath,
} from './schema.ts'

const worker = {
  username: 'ada-lovelace',
  displayName: 'Ada Lovelace',
  avatarUrl: null,
  profilePath: '/u/ada-lovelace',
}
const skills = [
  { name: 'TypeScript', verified: true, level: 'advanced' },
  { name: 'Technical writing', verified: false, level: null },
]
const token = '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62'
const score = {
  score: 742,
  confidence: { low: 701, high: 778 },
  scoreBand: 'strong' as const,
  issuedAt: '2026-05-14T09:00:00Z',
  evidenceCount: 18,
  engineVersion: '2.0.0',
  scoreVc: {
    sha256: '5198254e5730f1642c3bdf23cb57b7d642ca869c92dd949a88e491e661d8f2a2',
    statusUrl: `https://scores.example.org/standard/v1/score-vc-status/${token}`,
    statusListCredential:
      'https://scores.example.org/standard/v1/status-lists/score-vc-revocation/k3x7qzm2ab',
  },
}

export const examples: { search: SearchResult; detail: CandidateDetail; score: PublicScore } = {
  search: {
    query: 'typescript',
    candidates: [
      {
        ...worker,
        title: 'Software engineer',
        topSkills: skills,
        matchedSkills: skills.slice(0, 1),
        skillCount: 2,
        verifiedSkillCount: 1,
      },
    ],
    resultCount: 1,
  },
  detail: {
    ...worker,
    title: 'Software engineer',
    bio: null,
    memberSince: '2026-05',
    skills,
    skillCount: 2,
    verifiedSkillCount: 1,
    score,
  },
  score: {
    schemaVersion: schemaVersion('public_score'),
    id: '9f2c1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f',
    ...score,
    profile: worker,
  },
}

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
