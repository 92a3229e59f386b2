/**
 * Requests of the contract test to the session route of the ledger: a good request, and one for
 * each error answer.
 */
import type { Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { newSession } from './sessions.ts'

export async function creditDrives(
  service: Pick<TestService, 'database'>,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { headers } = await newSession(service.database.db)
  const operation = 'getCreditsCsv'
  const path = '/api/account/credits.csv'
  const question = { path, headers }
  const old = { ...headers, 'Service-Version': '2025-01-01' }
  const refused = (status: number, error: string, sent: string, more: Partial<Question>) => ({
    operation,
    status,
    sent,
    error,
    question: { ...question, ...more },
  })
  return {
    good: { [operation]: question },
    drives: [
      { operation, status: 200, sent: 'a session', question },
      refused(401, 'session_required', 'no session', { headers: {} }),
      refused(400, 'unsupported_version', 'the version 2025-01-01', { headers: old }),
      refused(400, 'invalid_parameter', 'an invalid cursor', { path: `${path}?cursor=x` }),
    ],
  }
}
