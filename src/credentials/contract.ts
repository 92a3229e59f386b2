/** The endpoints of score credentials. */
import { type Contract, commonResponses, jsonLdType } from '../edge/http/contract.ts'
import { exampleCredential, exampleStatusList, examples } from './examples.ts'
import {
  anonymousVerifyLimits,
  credentialStatus,
  didDocument,
  didPath,
  publicKeyDocument,
  publicKeyPath,
  publicKeyQuery,
  statusListCredential,
  statusListPath,
  statusListPathParameters,
  statusListQuery,
  statusPath,
  statusTokenPath,
  statusTokenQuery,
  verifierDescription,
  verifyBodyBytesMax,
  verifyMediaTypes,
  verifyPath,
  verifyRequest,
  verifyResult,
} from './schema.ts'

const open = { method: 'GET', policy: { kind: 'open' }, priority: 'public' } as const

const unsigned = {
  description: 'Signing is not configured.',
  errors: ['signing_not_configured', 'overloaded'],
} as const

export const scoreCredentialContract = {
  getScoreCredentialPublicKey: {
    ...open,
    path: publicKeyPath,
    area: 'discovery',
    summary: 'The public key that signs score credentials',
    description:
      'The active key; with `kid` (an extension) an older one in the same shape. Only the public key is published.',
    document: true,
    queryParameters: publicKeyQuery,
    responses: {
      200: { description: 'The key.', schema: publicKeyDocument, example: examples.publicKey },
      ...commonResponses,
      404: { description: 'No key has this kid, or it was revoked.', errors: ['not_found'] },
      503: unsigned,
    },
  },
  getDidDocument: {
    ...open,
    path: didPath,
    area: 'discovery',
    summary: 'The issuer as a did:web document',
    description:
      'Lists every signing key as Multikey. A key that does not sign yet, or was compromised, is not in assertionMethod.',
    extension: true,
    document: true,
    responses: {
      200: { description: 'The DID document.', schema: didDocument, example: examples.did },
      ...commonResponses,
      503: unsigned,
    },
  },
  getScoreCredentialStatus: {
    ...open,
    path: `${statusPath}{statusToken}`,
    area: 'score credentials',
    summary: 'Whether a credential is revoked, by its status token',
    description:
      'The status is current. The answer contains nothing about the worker, the score, the evidence or the reason.',
    pathParameters: statusTokenPath,
    queryParameters: statusTokenQuery,
    responses: {
      200: { description: 'The status.', schema: credentialStatus, example: examples.status },
      ...commonResponses,
      404: {
        description: 'No credential has this token, or none with this digest.',
        errors: ['status_token_not_found'],
      },
      500: { description: 'Unexpected error.' },
      503: { description: 'The registry does not answer.', errors: ['unavailable', 'overloaded'] },
    },
  },
  getScoreCredentialStatusList: {
    ...open,
    path: `${statusListPath}{listId}`,
    area: 'score credentials',
    summary: 'A signed list of revocations (W3C Bitstring Status List)',
    description:
      'Holds a revocation within two seconds. `proof` (an extension) picks the form of the signature.',
    document: true,
    pathParameters: statusListPathParameters,
    queryParameters: statusListQuery,
    responses: {
      200: {
        description: 'The signed list.',
        schema: statusListCredential,
        contentType: jsonLdType,
        example: exampleStatusList(),
      },
      ...commonResponses,
      404: { description: 'There is no such list.', errors: ['status_list_not_found'] },
      500: { description: 'Unexpected error.' },
      503: {
        description: 'Signing is not configured, or the list could not be renewed in time.',
        errors: ['signing_not_configured', 'unavailable', 'overloaded'],
      },
    },
  },
  verifyScoreCredential: {
    method: 'POST',
    path: verifyPath,
    area: 'score credentials',
    summary: 'Verify a score credential',
    description:
      'Checks issuer, signature and revocation independently, and the time of validity. A credential that fails is still answered with 200, `valid` false and a `reason`. Send the credential exactly as issued, with one proof of any of the three forms.',
    policy: {
      kind: 'optional-key',
      scope: 'scores:read',
      meter: 'score_lookup',
      anonymous: anonymousVerifyLimits,
      limits: 'keyLimits',
    },
    priority: 'search',
    body: {
      mediaTypes: verifyMediaTypes,
      schema: verifyRequest,
      bytesMax: verifyBodyBytesMax,
      ambiguousReachesHandler: true,
      examples: { credential: exampleCredential() },
    },
    responses: {
      200: { description: 'The findings.', schema: verifyResult, example: examples.verifyResult },
      400: {
        description:
          'The body is not a JSON object, the version is not supported, or the Idempotency-Key of a call by key is not acceptable.',
      },
      401: { description: 'The API key is not valid.' },
      402: { description: 'The account has too few credits.' },
      403: { description: 'The API key lacks the scope scores:read.' },
      413: { description: `The body is larger than ${verifyBodyBytesMax} bytes.` },
      415: { description: 'The content type is not JSON or JSON-LD.' },
      429: { description: 'Too many calls from this address; retry after Retry-After seconds.' },
      500: { description: 'Unexpected error.' },
      503: {
        description: 'The service is busy, or keys and metering are not available.',
        errors: ['overloaded', 'unavailable', 'metering_suspended'],
      },
    },
  },
  describeScoreCredentialVerifier: {
    ...open,
    path: verifyPath,
    area: 'score credentials',
    summary: 'How to call the verifier',
    document: true,
    responses: {
      200: {
        description: 'The description.',
        schema: verifierDescription,
        example: examples.verifier,
      },
      ...commonResponses,
    },
  },
} satisfies Contract
