/** The route by which a signed-in user reads the audit log of an account. */
import { type Contract, sessionResponses } from '../platform/http/contract.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { accountAudit, accountAuditQuery } from './schema.ts'

export const auditContract = {
  listAccountAudit: {
    method: 'GET',
    path: '/api/account/audit',
    area: 'account',
    extension: true,
    policy: { kind: 'session' },
    priority: 'search',
    summary: 'List what members and the operator did to the account',
    description: 'Each entry is a change. Reads are not in the log.',
    queryParameters: accountAuditQuery,
    responses: {
      200: {
        description: 'The entries of the audit log that belong to the account, newest first.',
        schema: accountAudit,
        example: {
          schemaVersion: schemaVersion('account_audit'),
          entries: [
            {
              at: '2026-05-16T14:12:00.123Z',
              actor: {
                kind: 'user',
                userId: '019f8a52-4f00-7000-8000-000000000021',
                apiKeyId: null,
              },
              action: 'api_keys.rotated',
              subjects: ['019f8a52-4f00-7000-8000-000000000031'],
              details: { overlapHours: 24, successor: '019f8a52-4f00-7000-8000-000000000032' },
            },
          ],
        },
        hasNextLink: true,
      },
      ...sessionResponses,
    },
  },
} as const satisfies Contract
