/**
 * The endpoints of the sandbox: candidates and scores for signed-in users, and the public status of
 * sandbox credentials at the addresses in these credentials.
 */
import {
  examples as credentialExamples,
  exampleCredential,
  exampleStatusList,
} from '../../credentials/examples.ts'
import {
  credentialStatus,
  statusListCredential,
  statusListPathParameters,
  statusListQuery,
  statusTokenPath,
  statusTokenQuery,
} from '../../credentials/schema.ts'
import {
  type Contract,
  commonResponses,
  exampleUrl,
  jsonLdType,
  sessionResponses,
} from '../../edge/http/contract.ts'
import { schemaVersion } from '../../edge/http/identifiers.ts'
import { examples } from '../../workers/candidates/contract.ts'
import {
  candidateDetail,
  scoreIdPath,
  searchQuery,
  searchResult,
  usernamePath,
} from '../../workers/candidates/schema.ts'
import { sandboxListPath, sandboxOriginOf, sandboxScore, sandboxStatusPath } from './schema.ts'

const origin = sandboxOriginOf(exampleUrl)
const credential = exampleCredential(origin)
const { id: statusUrl, statusListCredential: statusListUrl } = Object(credential.credentialStatus)
const { sha256 = '' } = examples.score.scoreVc ?? {}

const exampleSandboxScore = {
  schemaVersion: schemaVersion('sandbox_score'),
  score: { ...examples.score, scoreVc: { sha256, statusUrl, statusListCredential: statusListUrl } },
  credential: { form: 'native', document: credential },
  statusUrl,
  statusListUrl,
}

const exampleSandboxList = exampleStatusList(origin)

const path = '/api/account/developer/sandbox'
const session = {
  method: 'GET',
  area: 'sandbox',
  policy: { kind: 'session' },
  priority: 'search',
} as const
const open = {
  method: 'GET',
  area: 'sandbox',
  extension: true,
  policy: { kind: 'open' },
  priority: 'search',
} as const

export const sandboxContract = {
  searchSandboxCandidates: {
    ...session,
    path: `${path}/candidates/search`,
    summary: 'Search fictional candidates',
    description: 'The same as searchCandidates, with fictional candidates. Nothing is charged.',
    queryParameters: searchQuery,
    responses: {
      200: {
        description: 'Previews in order.',
        schema: searchResult,
        hasNextLink: true,
        example: examples.search,
      },
      ...sessionResponses,
    },
  },
  getSandboxCandidate: {
    ...session,
    path: `${path}/candidates/{username}`,
    summary: 'One fictional candidate',
    description: 'The same as getCandidate, with fictional candidates. Nothing is charged.',
    pathParameters: usernamePath,
    responses: {
      200: { description: 'The candidate.', schema: candidateDetail, example: examples.detail },
      ...sessionResponses,
      404: {
        description: 'No sandbox candidate has this username.',
        errors: ['candidate_not_found'],
      },
    },
  },
  getSandboxScore: {
    ...session,
    path: `${path}/scores/{scoreId}`,
    summary: 'One fictional score with its credential',
    description:
      'Returns the score as in getScore, its credential as in getScoreCredential, and the addresses of the credential status.',
    pathParameters: scoreIdPath,
    responses: {
      200: { description: 'The score.', schema: sandboxScore, example: exampleSandboxScore },
      ...sessionResponses,
      404: { description: 'No score of the sandbox has this id.', errors: ['score_not_found'] },
    },
  },
  getSandboxCredentialStatus: {
    ...open,
    path: `${sandboxStatusPath}{statusToken}`,
    summary: 'Whether a credential of the sandbox is revoked, by its status token',
    description: 'The same as getScoreCredentialStatus, for credentials of fictional candidates.',
    pathParameters: statusTokenPath,
    queryParameters: statusTokenQuery,
    responses: {
      200: {
        description: 'The status.',
        schema: credentialStatus,
        example: credentialExamples.status,
      },
      ...commonResponses,
      404: {
        description: 'No sandbox credential has this token, or none with this digest.',
        errors: ['status_token_not_found'],
      },
    },
  },
  getSandboxStatusList: {
    ...open,
    path: `${sandboxListPath}{listId}`,
    summary: 'The signed list of revocations in the sandbox (W3C Bitstring Status List)',
    description:
      'The same as getScoreCredentialStatusList. The signing key is public, so the signature proves nothing.',
    document: true,
    pathParameters: statusListPathParameters,
    queryParameters: statusListQuery,
    responses: {
      200: {
        description: 'The signed list.',
        schema: statusListCredential,
        contentType: jsonLdType,
        example: exampleSandboxList,
      },
      ...commonResponses,
      404: { description: 'There is no such list.', errors: ['status_list_not_found'] },
    },
  },
} satisfies Contract
