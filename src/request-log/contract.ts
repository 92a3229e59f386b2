/** The route by which a signed-in user reads the request log of an account. */
import { type Contract, sessionResponses } from '../platform/http/contract.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { requestLog, requestLogQuery } from './schema.ts'

export const requestLogContract = {
  listRequests: {
    method: 'GET',
    path: '/api/account/requests',
    area: 'account',
    extension: true,
    policy: { kind: 'session' },
    priority: 'search',
    summary: 'List the calls of the account',
    description:
      'The calls with a key or a session of the last days, about a second after each. The log holds no path value, query, body or header.',
    queryParameters: requestLogQuery,
    responses: {
      200: {
        description: 'The calls that fit all given filters, newest first.',
        schema: requestLog,
        example: {
          schemaVersion: schemaVersion('request_log'),
          requests: [
            {
              requestId: 'kPq3Zr0vT8sWx1Yb',
              at: '2026-05-16T14:12:00.123Z',
              apiKeyId: '019f8a52-4f00-7000-8000-000000000031',
              operation: 'getScore',
              status: 200,
              error: null,
              creditsCharged: 1,
              durationMs: 2.418,
              network: '192.0.2.0/24',
            },
          ],
        },
        hasNextLink: true,
      },
      ...sessionResponses,
    },
  },
} as const satisfies Contract
