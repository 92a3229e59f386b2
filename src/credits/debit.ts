/**
 * Charging by group commit (decision D20): calls that wait at the same time are charged by one statement, each exactly as if it were
 * alone. One batch of this process is out at a time; other processes have theirs.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { coalesce } from '../platform/coalesce.ts'
import type { Db, Queryable } from '../platform/db/db.ts'
import { answerWithinMs } from '../platform/db/impatient-db.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { type Debit, type DebitRow, insertDebits } from './store.ts'

export type Debited =
  | { outcome: 'charged'; remaining: number }
  /** Or its key is not as the debit wants it. */
  | { outcome: 'short' }
  | { outcome: 'suspended' }
  /** Not charged: a defect of this one call. */
  | { outcome: 'failed'; error: unknown }

/** At most so many calls are charged by one statement. */
const batchMax = 256

export interface Debits {
  /** Rejects with `UnavailableError` where it is not known whether the call was charged. */
  debit(debit: Debit): Promise<Debited>
  /** Resolves when no call waits and no statement of theirs is under way. */
  ended(): Promise<void>
}

export function openDebits(db: Db, clock: Clock): Debits {
  let latest: Promise<unknown> = Promise.resolve()
  const debit = coalesce<Debit, Debited>({
    name: 'credits',
    run(debits) {
      const batch = debitBatch(db, debits, clock())
      // Whoever waits for it hears of its failure.
      latest = batch.catch(() => undefined)
      return batch
    },
    batchMax,
    deadlineMs: answerWithinMs,
  })
  return {
    debit,
    async ended() {
      for (let last: unknown; last !== latest; ) {
        last = latest
        await latest
        // Those who wait for it go on, and what is waiting is the next batch.
        await turn()
      }
    },
  }
}

/** In the order of the debits. */
export async function debitBatch(
  db: Queryable,
  debits: readonly Debit[],
  now: Date,
): Promise<Debited[]> {
  let rows: DebitRow[]
  try {
    rows = await insertDebits(db, debits, now)
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    // Nothing was charged. One of them is at fault, and the others must not suffer from it.
    return debits.length === 1 ? [{ outcome: 'failed', error }] : eachAlone(db, debits, now)
  }
  // An account without a row never had credits.
  const outcomes = debits.map((): Debited => ({ outcome: 'short' }))
  /** Behind a larger one that the balance did not cover. */
  const passedOver: number[] = []
  for (const { place, isAccepted, isSuspended, remaining } of rows) {
    const i = place - 1
    if (isAccepted) outcomes[i] = { outcome: 'charged', remaining }
    else if (isSuspended) outcomes[i] = { outcome: 'suspended' }
    else if ((debits[i] as Debit).amount <= remaining) passedOver.push(i)
  }
  if (passedOver.length === 0) return outcomes
  passedOver.sort((a, b) => a - b)
  // The first of each account fits now, so this comes to an end.
  const again = passedOver.map((i) => debits[i] as Debit)
  for (const [n, outcome] of (await debitBatch(db, again, now)).entries())
    outcomes[passedOver[n] as number] = outcome
  return outcomes
}

async function eachAlone(db: Queryable, debits: readonly Debit[], now: Date): Promise<Debited[]> {
  const outcomes: Debited[] = []
  for (const debit of debits) outcomes.push(...(await debitBatch(db, [debit], now)))
  return outcomes
}
