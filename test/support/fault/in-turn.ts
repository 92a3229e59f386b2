/** Two transactions of which one has to wait for the other. */
import assert from 'node:assert/strict'
import { type Db, type Queryable, sql, type Tx } from '../../../src/platform/db/db.ts'

/** What both give. `second` begins when `first` is done but not committed, and must wait for that: throws where it ends before. */
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
 * What `other` gives, which has to wait in the middle of one transaction, between `first` and `second`. Throws where either had to be begun
 * again: a deadlock is heard by nobody else, for whoever loses it tries once more.
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

/** Resolves once somebody waits for a lock in this database. Throws where `work`, which is to wait, ends instead. */
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
