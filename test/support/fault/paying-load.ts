/**
 * Callers that make charged reads with an API key until the server ends, and the checks of the
 * ledger afterwards.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { auditBooks } from '../../../src/billing/credits/credits.ts'
import { findCreditAccount } from '../../../src/billing/credits/store.ts'
import { type Db, sql } from '../../../src/platform/db/db.ts'
import type { TestKey } from '../build/keys.ts'
import { ask } from '../start/ask.ts'

/** Request ids, grouped by the outcome of the call. */
export interface Calls {
  /** Answered with 200. */
  answered: string[]
  /** Answered with 503. */
  refused: string[]
  /** Number of calls without an answer. Their request ids are unknown. */
  unanswered: number
}

export interface PayingLoad {
  calls: Calls
  /** Resolves once no call is in progress: after `stop`, or after the server has ended. */
  ended: Promise<unknown>
  stop(): void
}

/** A search without a result. The server answers 200 and charges it. */
const paidPath = '/api/v1/candidates/search?q=zzzz'
/** Each caller has one call in progress at a time. */
const callers = 24

export function payingLoad(base: string, { headers }: TestKey): PayingLoad {
  const calls: Calls = { answered: [], refused: [], unanswered: 0 }
  const stopping = new AbortController()
  const caller = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const reply = await ask(base, { path: paidPath, headers }).catch(() => null)
      if (reply === null) {
        calls.unanswered++
        return
      }
      const id = String(reply.headers['x-request-id'])
      if (reply.status === 200) calls.answered.push(id)
      else {
        assert.equal(reply.status, 503, reply.body.toString())
        calls.refused.push(id)
        await pause(5)
      }
    }
  }
  return {
    calls,
    ended: Promise.all(Array.from({ length: callers }, caller)),
    stop: () => stopping.abort(),
  }
}

export function sumOf(all: readonly Calls[]): Calls {
  return {
    answered: all.flatMap(({ answered }) => answered),
    refused: all.flatMap(({ refused }) => refused),
    unanswered: all.reduce((sum, { unanswered }) => sum + unanswered, 0),
  }
}

/**
 * Asserts that every call answered with 200 is charged once and no call is charged twice. At most
 * `refusedMax` of the calls answered with 503 are charged, and at most as many other calls as had
 * no answer. The ledger must balance. Returns a summary in numbers.
 */
export async function assertCharged(
  db: Db,
  { accountId }: TestKey,
  { calls, credits, refusedMax }: { calls: Calls; credits: number; refusedMax: number },
): Promise<string> {
  const entries = await db.rows<{ reference: string; charges: number; credits: number }>(sql`
    select split_part(reference, ':', 2) as reference,
      count(*) filter (where kind = 'charge') as charges, -sum(delta)::bigint as credits
    from credit_entries where account_id = ${accountId} and kind in ('charge', 'void') group by 1`)
  assert.ok(
    entries.every(({ charges }) => charges === 1),
    'a call was charged twice',
  )
  assert.ok(entries.every((entry) => entry.credits === 1 || entry.credits === 0))
  const charged = new Set(entries.flatMap((entry) => (entry.credits === 1 ? entry.reference : [])))
  const answered = new Set(calls.answered)
  assert.equal(answered.size, calls.answered.length)
  for (const id of answered) assert.ok(charged.has(id), `${id} was answered and not charged`)
  const refused = calls.refused.filter((id) => charged.has(id)).length
  assert.ok(refused <= refusedMax, `${refused} were answered with 503 and charged`)
  const lost = charged.size - answered.size - refused
  assert.ok(lost <= calls.unanswered, `${lost} charged of ${calls.unanswered} without an answer`)

  const account = await findCreditAccount(db, accountId)
  assert.equal(account?.balance, credits - charged.size)
  assert.deepEqual((await auditBooks(db, { now: new Date(), fromStart: true })).broken, [])
  return (
    `${answered.size} calls answered with 200: each charged once, none twice. ${calls.refused.length} with 503: ${refused} charged. ` +
    `${calls.unanswered} without an answer: ${lost} charged. Credits: ${credits} granted = ${charged.size} spent + ${account.balance} left.`
  )
}
