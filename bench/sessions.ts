/**
 * Measures what a session check costs: processor time of this process and of the database together,
 * for 256 callers at once, who share batches, with 10,000 sessions in the table. Limit: 60 µs.
 * Then reads the sandbox over HTTP by session, beside reads by key, and requests sign-in links.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '../src/accounts/access/manage.ts'
import { sessionCookieName } from '../src/accounts/cookies.ts'
import { beginSession, openSessions } from '../src/accounts/sessions.ts'
import { insertMembership, insertUser } from '../src/accounts/store.ts'
import { migrate } from '../src/database/migrate.ts'
import { systemClock } from '../src/platform/clock.ts'
import { openDb } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { startPostgres } from './children.ts'
import { median, report } from './measure.ts'
import { databaseSeconds } from './serving.ts'
import { benchSandbox } from './sessions-sandbox.ts'
import { benchSignIn } from './sessions-sign-in.ts'

const limitUs = 60
const sessionCount = 10_000
const callers = 256
const checksPerRound = 40_000
const rounds = 7

const publicUrl = 'https://scores.example.org'
const rules = { idleDays: 7, days: 30 }
const dataDir = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(dataDir, 0o755)
const postgres = await startPostgres({ dataDir, durable: true })
const db = openDb({
  url: postgres.url,
  connectionsMax: 4,
  applicationName: 'bench',
  onError: () => {},
})
try {
  await migrate(postgres.url, join(import.meta.dirname, '../migrations'), new Date())
  const cookies = await makeSessions()
  const { authenticate } = openSessions({ db, clock: systemClock, publicUrl, rules })
  const costs: number[] = []
  for (let round = -1; round < rounds; round++) {
    const before = [process.cpuUsage(), databaseSeconds(dataDir)] as const
    await Promise.all(
      Array.from({ length: callers }, (_, caller) => checks(authenticate, cookies, caller)),
    )
    const { user, system } = process.cpuUsage(before[0])
    const us = user + system + (databaseSeconds(dataDir) - before[1]) * 1e6
    // The first round warms up.
    if (round >= 0) costs.push(us / checksPerRound)
  }
  const us = median(costs)
  report('sessions', [
    {
      name: 'check by 256 callers, server and database',
      value: us,
      unit: 'µs',
      target: { max: limitUs },
    },
  ])
  await benchSandbox({ db, url: postgres.url, dataDir, sessions: cookies })
  await benchSignIn({ db, url: postgres.url })
} finally {
  await db.close()
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

async function checks(
  authenticate: ReturnType<typeof openSessions>['authenticate'],
  cookies: readonly string[],
  caller: number,
): Promise<void> {
  for (let i = caller; i < checksPerRound; i += callers)
    if ((await authenticate(cookies[(i * 7_919) % cookies.length])) === null)
      throw new Error('a session was not found')
}

async function makeSessions(): Promise<string[]> {
  return db.transaction(async (tx) => {
    const now = systemClock()
    const account = await createAccount(tx, 'bench', now)
    if (account === null) throw new Error('the account was not made')
    const userId = uuidV7(now)
    await insertUser(tx, { id: userId, email: 'bench@example.com', name: null, createdAt: now })
    await insertMembership(tx, { userId, accountId: account.id, role: 'owner', createdAt: now })
    const of = { userId, accountId: account.id, browser: 'Bench', network: '192.0.2.0/24' }
    const cookies: string[] = []
    for (let i = 0; i < sessionCount; i++) {
      const { value } = await beginSession(tx, of, { rules, now })
      cookies.push(`${sessionCookieName(publicUrl)}=${value}`)
    }
    return cookies
  })
}
