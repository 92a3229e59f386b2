/** Users with a session, made by the module that owns them. */
import { sessionCookieName } from '../../../src/accounts/cookies.ts'
import { beginSession } from '../../../src/accounts/sessions.ts'
import { insertMembership, insertUser } from '../../../src/accounts/store.ts'
import type { Role } from '../../../src/edge/http/callers.ts'
import type { Db } from '../../../src/platform/db/db.ts'
import { uuidV7 } from '../../../src/platform/db/uuid-v7.ts'
import { newAccount } from './accounts.ts'

export interface TestSession {
  accountId: string
  userId: string
  email: string
  sessionId: string
  /** Value of the session cookie. */
  value: string
  /** Headers of a request that changes nothing, as `Question.headers`. */
  headers: { Cookie: string }
  /** Headers of a request from one of our own pages, as `Question.headers`. */
  ownOrigin: { Cookie: string; 'Sec-Fetch-Site': 'same-origin' }
}

export interface NewTestSession {
  /** Account of the user, for example the account of a key. By default a new account. */
  accountId?: string
  role?: Role
  publicUrl?: string
  now?: Date
}

let users = 0

/**
 * Signs in a new user. `publicUrl` is the URL of the server, because the cookie has another name
 * over plain HTTP.
 */
export async function newSession(
  db: Db,
  {
    publicUrl = 'https://scores.example.org',
    role = 'owner',
    now = new Date(),
    ...over
  }: NewTestSession = {},
): Promise<TestSession> {
  return db.transaction(async (tx) => {
    const name = `user ${process.pid} ${++users}`
    const email = `${name.replaceAll(' ', '-')}@example.com`
    const accountId = over.accountId ?? (await newAccount(tx, name, now))
    const userId = uuidV7(now)
    await insertUser(tx, { id: userId, email, name: null, createdAt: now, addressProvenAt: now })
    await insertMembership(tx, { userId, accountId, role, createdAt: now })
    const from = { userId, accountId, browser: 'Test', network: '192.0.2.0/24' }
    const session = await beginSession(tx, from, { rules: { idleDays: 7, days: 30 }, now })
    const headers = { Cookie: `${sessionCookieName(publicUrl)}=${session.value}` }
    return {
      accountId,
      userId,
      email,
      sessionId: session.id,
      value: session.value,
      headers,
      ownOrigin: { ...headers, 'Sec-Fetch-Site': 'same-origin' },
    }
  })
}
