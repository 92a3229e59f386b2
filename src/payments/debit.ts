/**
 * Charging by group commit (decision D20): calls that wait at the same time are charged by one statement, each exactly as if it were
 * alone. One batch of this process is out at a time; other processes have theirs.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { coalesce } from '../platform/coalesce.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { UnavailableError } from '../platform/errors.ts'
import { type Debit, insertDebits } from './credit-store.ts'

export type Debited =
  | { outcome: 'charged'; remaining: number }
  /** Or its key is not as the debit wants it. */
  | { outcome: 'short' }
  | { outcome: 'suspended' }
  /** Not charged: a defect of this one call. */
  | { outcome: 'failed'; error: unknown }

/** At most so many calls are charged by one statement. */
const batchMax = 256
const answerWithinMs = 450

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
  const rows = await insertDebits(db, debits, now).catch((error: unknown) => {
    if (error instanceof UnavailableError || debits.length === 1) throw error
    return null
  })
  // One of them is at fault, and nothing was charged: the others must not suffer from it.
  if (rows === null) return eachAlone(db, debits, now)
  // An account without a row never had credits.
  const outcomes = debits.map((): Debited => ({ outcome: 'short' }))
  for (const { place, isAccepted, isSuspended, remaining } of rows) {
    const debit = debits[place - 1]
    if (isAccepted) outcomes[place - 1] = { outcome: 'charged', remaining }
    else if (isSuspended) outcomes[place - 1] = { outcome: 'suspended' }
    else if (debit !== undefined && debit.amount <= remaining)
      // It was behind a larger one that the balance did not cover.
      outcomes.splice(place - 1, 1, ...(await eachAlone(db, [debit], now)))
  }
  return outcomes
}

async function eachAlone(db: Queryable, debits: readonly Debit[], now: Date): Promise<Debited[]> {
  const outcomes: Debited[] = []
  for (const debit of debits) {
    try {
      outcomes.push(...(await debitBatch(db, [debit], now)))
    } catch (error) {
      if (error instanceof UnavailableError) throw error
      outcomes.push({ outcome: 'failed', error })
    }
  }
  return outcomes
}
