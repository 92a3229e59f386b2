/** Enters grants and adjustments of operators into the ledger. */
import { randomUUID } from 'node:crypto'
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
import type { Tx } from '../platform/db/db.ts'
import {
  findEqualEntry,
  findOperatorEntry,
  insertCreditAccount,
  insertOperatorEntry,
  lockCreditAccount,
  type OperatorEntry,
} from './store.ts'

export interface Entry extends Pick<OperatorEntry, 'accountId' | 'kind' | 'delta' | 'reason'> {
  /**
   * The operator's own name for the entry, such as an invoice number. Each reference is entered
   * once.
   */
  reference?: string | undefined
  /**
   * Refuses the entry if an operator made an equal one, with another reference, in the last ten
   * minutes.
   */
  isFirst?: boolean
}

export type Entered =
  | { outcome: 'entered'; balance: number }
  | { outcome: 'entered before' }
  /** An equal entry was made at `at`, and `isFirst` was asked for. */
  | { outcome: 'equal entry'; reference: string; at: Date }
  /** A different entry has this reference. */
  | { outcome: 'reference used' }
  /** The balance would be negative. */
  | { outcome: 'too little'; balance: number }

/** Enters `delta` whole credits. Only an adjustment may be below 0. */
export function enterCredits(context: ActionContext, entry: Entry): Promise<Entered> {
  const { accountId, kind, delta } = entry
  const action = kind === 'grant' ? 'credits.granted' : 'credits.adjusted'
  return audited(context, action, async (tx) => {
    const entered = await enter(tx, entry)
    if (entered.outcome !== 'entered') return unchanged(entered)
    const details = { credits: delta, balance: entered.balance }
    return changed(entered, { subjects: [accountId], details })
  })
}

async function enter(tx: Tx, { reference, isFirst = false, ...entry }: Entry): Promise<Entered> {
  await insertCreditAccount(tx, entry.accountId)
  const account = await lockCreditAccount(tx, entry.accountId)
  if (account === undefined) throw new Error('a credit account that was just made is not there')
  const named = { ...entry, reference: `operator:${reference ?? randomUUID()}` }
  const before = reference === undefined ? null : await enteredBefore(tx, named)
  if (before !== null) return before
  const equal = isFirst ? await findEqualEntry(tx, entry) : undefined
  if (equal !== undefined) return { outcome: 'equal entry', ...equal }
  const { balance } = account
  if (balance + entry.delta < 0) return { outcome: 'too little', balance }
  if (await insertOperatorEntry(tx, named))
    return { outcome: 'entered', balance: balance + entry.delta }
  // A concurrent transaction used the reference for another account, so its lock did not stop us.
  const meanwhile = await enteredBefore(tx, named)
  if (meanwhile === null) throw new Error('an entry was not made, and is not there')
  return meanwhile
}

async function enteredBefore(tx: Tx, entry: OperatorEntry): Promise<Entered | null> {
  const before = await findOperatorEntry(tx, entry.reference)
  if (before === undefined) return null
  const { accountId, kind, delta } = before
  const isSame = accountId === entry.accountId && kind === entry.kind && delta === entry.delta
  return { outcome: isSame ? 'entered before' : 'reference used' }
}
