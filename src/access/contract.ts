/** The routes by which a signed-in user manages the API keys of an account. */
import {
  type Contract,
  sessionBodyResponses,
  sessionResponses,
  smallJsonBody,
} from '../platform/http/contract.ts'
import {
  exampleKeyChanged,
  exampleKeyCreated,
  exampleKeyList,
  exampleKeyRequest,
} from './examples.ts'
import {
  apiKeyChanged,
  apiKeyCreated,
  apiKeyList,
  apiKeyRequest,
  keyIdPath,
  rotateRequest,
} from './schema.ts'

const path = '/api/account/api-keys'

const shared = {
  area: 'account',
  extension: true,
  policy: { kind: 'session' },
  priority: 'search',
} as const

/** Also 403 to a member who owns nothing. */
const forbidden = {
  description: 'The request does not come from a page of this service, or the user is no owner.',
  errors: ['cross_origin', 'owner_required'],
} as const

const unknownKey = {
  description: 'The account has no such API key.',
  errors: ['api_key_not_found'],
} as const

export const apiKeyContract = {
  listApiKeys: {
    ...shared,
    method: 'GET',
    path,
    summary: 'List the API keys of the account',
    description: 'Revoked and expired keys are listed as well. No answer has the secret of a key.',
    responses: {
      200: {
        description: 'The keys, newest first; revoked and expired ones too.',
        schema: apiKeyList,
        example: exampleKeyList,
      },
      ...sessionResponses,
    },
  },
  createApiKey: {
    ...shared,
    method: 'POST',
    path,
    summary: 'Create an API key',
    description: 'Only owners of the account may do this. The key is in this answer alone.',
    body: { ...smallJsonBody, schema: apiKeyRequest, examples: { key: exampleKeyRequest } },
    responses: {
      201: {
        description: 'The key.',
        schema: apiKeyCreated,
        example: exampleKeyCreated,
      },
      ...sessionBodyResponses(smallJsonBody.bytesMax),
      403: forbidden,
      409: {
        description: 'The account has its maximum of valid keys.',
        errors: ['api_keys_maximum'],
      },
    },
  },
  rotateApiKey: {
    ...shared,
    method: 'POST',
    path: `${path}/{keyId}/rotate`,
    summary: 'Give an API key a successor',
    description:
      'Only owners of the account may do this. The successor has the same rights. The old key stays valid for `overlapHours` more; with 0 it is revoked now.',
    pathParameters: keyIdPath,
    body: { ...smallJsonBody, schema: rotateRequest, examples: { day: { overlapHours: 24 } } },
    responses: {
      201: {
        description: 'The successor.',
        schema: apiKeyCreated,
        example: exampleKeyCreated,
      },
      ...sessionBodyResponses(smallJsonBody.bytesMax),
      403: forbidden,
      404: unknownKey,
      409: {
        description: 'The key is revoked, has expired, or was rotated before.',
        errors: ['api_key_not_rotatable'],
      },
    },
  },
  revokeApiKey: {
    ...shared,
    method: 'DELETE',
    path: `${path}/{keyId}`,
    summary: 'Revoke an API key',
    description:
      'Only owners of the account may do this. Every node refuses the key from the next request on. A key that is revoked already is answered as it is.',
    pathParameters: keyIdPath,
    responses: {
      200: {
        description: 'The key, revoked.',
        schema: apiKeyChanged,
        example: exampleKeyChanged,
      },
      ...sessionResponses,
      403: forbidden,
      404: unknownKey,
    },
  },
} as const satisfies Contract
