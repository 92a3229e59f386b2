/**
 * The endpoints of revocation: the status of one credential by its token, and signed status lists.
 */

import { batched } from '../platform/batching.ts'
import { type Clock, wireTime } from '../platform/clock.ts'
import { commonResponses } from '../platform/http/contract.ts'
import { type Answer, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse, UnavailableError } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { exampleStatusList, examplesFor } from './examples.ts'
import { type Origin, statusListPath, statusPath } from './payload.ts'
import type { RegistryCache } from './registry-cache.ts'
import {
  credentialStatus,
  listFormOf,
  statusListCredential,
  statusListPathParameters,
  statusListQuery,
  statusTokenPath,
  statusTokenQuery,
} from './schema.ts'
import { listIdPattern } from './status-list.ts'
import type { RegisteredStatus, StatusQuestion } from './verify.ts'

export interface StatusParts {
  registryCache: RegistryCache
  origin: Origin
  clock: Clock
  askStatus(question: StatusQuestion): Promise<RegisteredStatus>
  /** Deadline for the answer of the database, in milliseconds. */
  answerWithinMs: number
}

const ldJson = 'application/ld+json'

export function statusEndpoints(parts: StatusParts): Endpoint[] {
  const { registryCache, origin, clock, askStatus, answerWithinMs } = parts
  const refreshCache = batched<string, void>({
    name: 'status list',
    run: async (listIds) => {
      await registryCache.refresh()
      return listIds.map(() => undefined)
    },
    deadlineMs: answerWithinMs,
  })

  return [
    endpoint({
      operationId: 'getScoreCredentialStatus',
      method: 'GET',
      path: `${statusPath}{statusToken}`,
      area: 'score credentials',
      summary: 'Whether a credential is revoked, by its status token',
      description:
        'Read live. The answer tells nothing of the person, the score, the evidence or the reason.',
      policy: { kind: 'open' },
      priority: 'public',
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
          description: 'No credential has this token, or none with this digest.',
          errors: ['status_token_not_found'],
        },
        500: { description: 'Unexpected error.' },
        503: {
          description: 'The registry does not answer.',
          errors: ['unavailable', 'overloaded'],
        },
      },
      async answer({ path, query }) {
        const token = Buffer.from(path.statusToken, 'hex')
        const status = await askStatus({ token, vcSha256: token })
        const isMatch =
          status.kind === 'registered' &&
          (query.vcSha256 === undefined || status.vcSha256.toString('hex') === query.vcSha256)
        // Unknown token and wrong digest get the same body, so a caller cannot guess a digest.
        if (!isMatch) return refuse('status_token_not_found')
        return { status: 200, body: statusBody(status.revokedAt, clock()) }
      },
    }),
    endpoint({
      operationId: 'getScoreCredentialStatusList',
      method: 'GET',
      path: `${statusListPath}{listId}`,
      area: 'score credentials',
      summary: 'A signed list of revocations (W3C Bitstring Status List)',
      description:
        'Holds a revocation within two seconds. `proof` (an extension) picks the form of the signature.',
      policy: { kind: 'open' },
      document: true,
      priority: 'public',
      pathParameters: statusListPathParameters,
      queryParameters: statusListQuery,
      responses: {
        200: {
          description: 'The signed list.',
          schema: statusListCredential,
          contentType: ldJson,
          example: exampleStatusList(origin),
        },
        ...commonResponses,
        404: { description: 'There is no such list.', errors: ['status_list_not_found'] },
        500: { description: 'Unexpected error.' },
        503: {
          description: 'Signing is not configured, or the list could not be renewed in time.',
          errors: ['signing_not_configured', 'unavailable', 'overloaded'],
        },
      },
      answer({ path, query }) {
        if (registryCache.activeKey() === undefined) return refuse('signing_not_configured')
        const listed = (): Answer =>
          listAnswer(registryCache.list(path.listId, listFormOf(query), clock()))
        const cached = listed()
        const mayBeYounger = 'refusal' in cached && listIdPattern.test(path.listId)
        // A cached list is answered at once. A list that is not cached may be younger than the last
        // refresh.
        return mayBeYounger ? refreshCache(path.listId).then(listed) : cached
      },
    }),
  ]
}

/** Throws `UnavailableError` if the list was not renewed in time. */
function listAnswer(list: ReturnType<RegistryCache['list']>): Answer {
  if (list === 'unknown') return refuse('status_list_not_found')
  if (list === 'outdated') throw new UnavailableError('the status list is past its validity')
  return { document: list }
}

/** Returns the closed body: `revokedAt` is present only if the credential is revoked. */
export function statusBody(revokedAt: Date | null, checkedAt: Date): Record<string, unknown> {
  return {
    schemaVersion: schemaVersion('score_vc_status'),
    status: revokedAt === null ? 'active' : 'revoked',
    revoked: revokedAt !== null,
    ...(revokedAt === null ? {} : { revokedAt: wireTime(revokedAt) }),
    checkedAt: wireTime(checkedAt),
  }
}
