/**
 * Requests of the contract test to the routes of a signed-in session: a good request for each
 * route, and one for each error answer.
 */
import { randomUUID } from 'node:crypto'
import type { Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { newKey } from './keys.ts'
import { newSession, type TestSession } from './sessions.ts'

const sessionsPath = '/api/account/sessions'

/**
 * Prepares sessions and returns the requests. The server answers each request in `good` (keyed by
 * operation id) with the first success that the contract lists. A request that ends its session
 * succeeds only once.
 */
export async function sessionDrives(
  service: Pick<TestService, 'database'>,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { db } = service.database
  const session = await newSession(db)
  const key = await newKey(db)
  const [leaving, other, stranger] = [
    await newSession(db),
    await newSession(db),
    await newSession(db),
  ]
  const good: Record<string, Question> = {
    listSessions: { path: sessionsPath, headers: session.headers },
    endAllSessions: { method: 'DELETE', path: sessionsPath, headers: leaving.ownOrigin },
    endSession: ending(other.sessionId, other),
  }
  const drives: KeyedDrive[] = Object.entries(good).flatMap(([operation, question]) => {
    const { method = 'GET' } = question
    const drive = (sent: string, refused: [number, string], headers: object): KeyedDrive => ({
      operation,
      status: refused[0],
      sent,
      question: { ...question, headers: { ...question.headers, ...headers } },
      error: refused[1],
    })
    const isChange = method !== 'GET'
    return [
      {
        operation,
        status: isChange && question.body !== undefined ? 201 : 200,
        sent: 'a session',
        question,
      },
      drive('no session', [401, 'session_required'], { Cookie: '' }),
      drive('a key in place of a session', [401, 'session_required'], {
        ...key.headers,
        Cookie: '',
      }),
      drive('the version 2025-01-01', [400, 'unsupported_version'], {
        'Service-Version': '2025-01-01',
      }),
      ...(isChange
        ? [
            drive('another site', [403, 'cross_origin'], { 'Sec-Fetch-Site': 'cross-site' }),
            drive('no sign of its origin', [403, 'cross_origin'], { 'Sec-Fetch-Site': '' }),
          ]
        : []),
    ]
  })
  for (const [status, sent, id, error] of [
    [404, 'the session of another user', stranger.sessionId, 'session_not_found'],
    [404, 'an unknown id', randomUUID(), 'session_not_found'],
    [400, 'an invalid id', 'abc', 'invalid_parameter'],
  ] as const)
    drives.push({ operation: 'endSession', status, sent, question: ending(id, session), error })
  return { good, drives }
}

function ending(id: string, { ownOrigin: headers }: TestSession): Question {
  return { method: 'DELETE', path: `${sessionsPath}/${id}`, headers }
}
