/**
 * Requests of the contract test to the session routes of usage and credits: a good request for each
 * route, and one for each error answer.
 */
import type { Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { newSession } from './sessions.ts'

export async function creditDrives(
  service: Pick<TestService, 'database'>,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { headers } = await newSession(service.database.db)
  const good: Record<string, Question> = {
    getUsage: { path: '/api/account/usage', headers },
    getCredits: { path: '/api/account/credits', headers },
    getCreditsCsv: { path: '/api/account/credits.csv', headers },
  }
  const drives: KeyedDrive[] = []
  for (const [operation, question] of Object.entries(good)) {
    const drive = (sent: string, [status, error]: [number, string], more: Partial<Question>) =>
      drives.push({ operation, status, sent, error, question: { ...question, ...more } })
    drives.push({ operation, status: 200, sent: 'a session', question })
    drive('no session', [401, 'session_required'], { headers: {} })
    drive('the version 2025-01-01', [400, 'unsupported_version'], {
      headers: { ...headers, 'Service-Version': '2025-01-01' },
    })
  }
  const refused = (operation: string, path: string, sent: string) =>
    drives.push({
      operation,
      status: 400,
      sent,
      error: 'invalid_parameter',
      question: { path, headers },
    })
  for (const [query, sent] of [
    ['by=hour', 'an unknown group'],
    ['from=2026-02-30', 'an invalid day'],
    ['from=yesterday', 'a word for a day'],
    ['from=2026-05-14&to=2026-05-13', 'an end before the beginning'],
    ['from=2020-01-01&to=2026-05-13', 'more than 400 days'],
  ] as const)
    refused('getUsage', `/api/account/usage?${query}`, sent)
  refused('getCredits', '/api/account/credits?limit=101', 'a limit of 101')
  refused('getCredits', '/api/account/credits?cursor=-1', 'an invalid cursor')
  refused('getCreditsCsv', '/api/account/credits.csv?cursor=x', 'an invalid cursor')
  return { good, drives }
}
