/**
 * Debits by group commit (decision D20). One statement charges all calls that wait at the same
 * time, each exactly as if it were alone. This process sends one batch at a time; other processes
 * send their own.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { batched } from '../../platform/batching.ts'
import type { Db, Queryable } from '../../platform/db/db.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { type Debit, type DebitRow, insertDebits } from './store.ts'

export type Debited =
  | { kind: 'charged'; remaining: number }
  /** `remaining` is less than the price. */
  | { kind: 'short'; remaining: number }
  | { kind: 'suspended' }
  /** Not charged, because of a defect of this call alone. */
  | { kind: 'failed'; error: unknown }

/** Calls that one statement may charge. */
const batchMax = 256

export interface Debits {
  /** Rejects with `UnavailableError` if it is unknown whether the call was charged. */
  debit(debit: Debit): Promise<Debited>
  /** Resolves when no call waits and no statement is under way. */
  ended(): Promise<void>
}

export function openDebits(db: Db): Debits {
  let latest: Promise<unknown> = Promise.resolve()
  /** Calls without an answer. */
  let open = 0
  const send = batched<Debit, Debited>({
    name: 'credits',
    run(debits) {
      const batch = debitBatch(db, debits)
      // The callers of the batch handle its failure; here only its end counts.
      latest = batch.catch(() => undefined)
      return batch
    },
    batchMax,
    deadline: 'databaseAnswer',
  })
  return {
    async debit(wanted) {
      open++
      try {
        return await send(wanted)
      } finally {
        open--
      }
    },
    async ended() {
      // A call without an answer waits for the next batch, which may begin some turns after the end
      // of this one. A call that was answered by its deadline may be in the statement under way.
      const isBusy = (last: unknown) => open > 0 || last !== latest
      for (let last: unknown; isBusy(last); ) {
        last = latest
        await latest
        // The callers of answered calls refund them, and the next batch begins.
        await turn()
      }
    },
  }
}

/** Charges a batch. Returns the outcomes in the order of the debits. */
export async function debitBatch(db: Queryable, debits: readonly Debit[]): Promise<Debited[]> {
  let rows: DebitRow[]
  try {
    rows = await insertDebits(db, debits)
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    // Nothing was charged. One call is defective, and the others must not fail because of it.
    return debits.length === 1 ? [{ kind: 'failed', error }] : eachAlone(db, debits)
  }
  // The default outcome, because an account that never had credits has no row.
  const outcomes = debits.map((): Debited => ({ kind: 'short', remaining: 0 }))
  /** Calls that the balance covers, refused because a larger call before them was counted. */
  const passedOver: number[] = []
  for (const { place, isAccepted, isSuspended, remaining } of rows) {
    const i = place - 1
    if (isAccepted) outcomes[i] = { kind: 'charged', remaining }
    else if (isSuspended) outcomes[i] = { kind: 'suspended' }
    else if ((debits[i] as Debit).amount <= remaining) passedOver.push(i)
    else outcomes[i] = { kind: 'short', remaining }
  }
  if (passedOver.length === 0) return outcomes
  passedOver.sort((a, b) => a - b)
  // Ends, because at least the first call of each account is covered now.
  const again = passedOver.map((i) => debits[i] as Debit)
  for (const [n, outcome] of (await debitBatch(db, again)).entries())
    outcomes[passedOver[n] as number] = outcome
  return outcomes
}

async function eachAlone(db: Queryable, debits: readonly Debit[]): Promise<Debited[]> {
  const outcomes: Debited[] = []
  for (const debit of debits) outcomes.push(...(await debitBatch(db, [debit])))
  return outcomes
}
