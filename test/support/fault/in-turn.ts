/** Two transactions, of which one must wait for the other. */
import assert from 'node:assert/strict'
import { type Db, type Queryable, sql, type Tx } from '../../../src/platform/db/db.ts'

/**
 * Starts `second` after `first` has run and before `first` commits. Returns both results. Throws if
 * `second` ends without waiting.
 */
export async function inTurn<First, Second>(
  db: Db,
  first: (tx: Tx) => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  const begun = await db.transaction(async (tx) => {
    const done = await first(tx)
    const waiting = second()
    await untilItWaits(db, waiting)
    return { done, waiting }
  })
  return [begun.done, await begun.waiting]
}

/**
 * Runs `other` between the statements of `first` and `second` in one transaction, and returns its
 * result. `other` must wait for that transaction. Throws if a transaction was restarted: PostgreSQL
 * aborts one transaction of a deadlock and `db` retries it, so a deadlock is visible only as a
 * restart.
 */
export async function crossing<Other>(
  db: Db,
  { first, second }: { first: (tx: Tx) => Promise<unknown>; second: (tx: Tx) => Promise<unknown> },
  other: (tx: Tx) => Promise<Other>,
): Promise<Other> {
  let begun = 0
  const counted = <Result>(work: (tx: Tx) => Promise<Result>) =>
    db.transaction((tx) => {
      begun++
      return work(tx)
    })
  const { waiting } = await counted(async (tx) => {
    await first(tx)
    const waiting = counted(other)
    await untilItWaits(db, waiting)
    await second(tx)
    return { waiting }
  })
  const given = await waiting
  assert.equal(begun, 2, 'none is begun again, as after a deadlock')
  return given
}

/**
 * Resolves once a backend waits for a lock in this database. Throws if `work` ends instead of
 * waiting.
 */
export async function untilItWaits(db: Queryable, work: Promise<unknown>): Promise<void> {
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  work.then(end, end)
  const waiting = sql`
    select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  while ((await db.rows(waiting)).length === 0) assert.ok(!hasEnded, 'it waited for nobody')
}
