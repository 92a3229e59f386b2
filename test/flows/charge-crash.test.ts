/** A serving process is killed under load: what was answered is charged once, and nothing else but what was under way. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { auditBooks } from '../../src/payments/audit-books.ts'
import { findCreditAccount } from '../../src/payments/credit-store.ts'
import { sql } from '../../src/platform/db.ts'
import { ask } from '../support/ask.ts'
import { testDatabase } from '../support/database.ts'
import { newKey } from '../support/keys.ts'

const database = await testDatabase()
const { db, url } = database
after(() => database.drop())

const clients = 12
const credits = 100_000

/** Clients ask one after the other until the process is gone; gives the request ids of the 200s. */
async function answeredUntilKilled(headers: Record<string, string>, answers: number) {
  const child = spawn(process.execPath, ['test/support/pay-loop.ts', url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  const base = String(line).trim()
  const answered: string[] = []
  const client = async (): Promise<void> => {
    for (;;) {
      const reply = await ask(base, { path: '/things/a', headers }).catch(() => null)
      if (reply === null) return
      assert.equal(reply.status, 200)
      answered.push(String(reply.headers['x-request-id']))
      if (answered.length >= answers) child.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return answered
}

test('SIGKILL under load: every 200 is in the books once, and the rest is no more than was under way; six times over', async () => {
  const key = await newKey(db, { credits })
  const answered = new Set<string>()
  const rounds = [20, 55, 90, 140, 200, 333]
  for (const answers of rounds)
    for (const id of await answeredUntilKilled(key.headers, answers)) answered.add(id)
  assert.ok(answered.size >= 800, `${answered.size} answers`)

  const entries = await db.rows<{ reference: string; delta: number }>(sql`
    select reference, delta from credit_entries
    where account_id = ${key.accountId} and kind = 'charge'`)
  const charged = new Set(entries.map(({ reference }) => reference))
  assert.equal(charged.size, entries.length)
  assert.ok(entries.every(({ delta }) => delta === -1))
  for (const id of answered) assert.ok(charged.has(id), `${id} was answered and not charged`)
  const unanswered = charged.size - answered.size
  assert.ok(unanswered <= rounds.length * clients, `${unanswered} charged and not answered`)

  const account = await findCreditAccount(db, key.accountId)
  assert.equal(account?.balance, credits - charged.size)
  assert.deepEqual((await auditBooks(db, { now: new Date(), fromStart: true })).broken, [])
})
