/** The status of sandbox credentials, at the addresses that these credentials name. Extensions of the specification. */
import type { Clock } from '../platform/clock.ts'
import { commonResponses, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { exampleStatusList, examplesFor } from '../score-credentials/examples.ts'
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

export interface SandboxOptions {
  sandbox: Sandbox
  clock: Clock
}

export function sandboxEndpoints({ sandbox, clock }: SandboxOptions): Endpoint[] {
  const { origin, statuses } = sandbox
  const common = {
    method: 'GET',
    area: 'sandbox',
    extension: true,
    policy: { kind: 'open' },
    shed: 6,
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
