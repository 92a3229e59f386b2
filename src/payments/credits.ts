/** What operators enter into the books; each verb inside the caller's transaction. */
import { randomUUID } from 'node:crypto'
import type { Tx } from '../platform/db.ts'
import {
  insertCreditAccount,
  insertOperatorEntry,
  lockCreditAccount,
  type OperatorEntry,
} from './credit-store.ts'

export interface Entry extends Pick<OperatorEntry, 'accountId' | 'kind' | 'delta' | 'reason'> {
  /** The operator's own name for it, such as the number of an invoice: it is entered once. */
  reference?: string | undefined
}

export type Entered =
  | { outcome: 'entered'; balance: number }
  | { outcome: 'entered before' }
  /** The balance would be negative. */
  | { outcome: 'too little'; balance: number }

/** `delta` in whole credits; below 0 only for an adjustment. */
export async function enterCredits(tx: Tx, { reference, ...entry }: Entry): Promise<Entered> {
  await insertCreditAccount(tx, entry.accountId)
  const account = await lockCreditAccount(tx, entry.accountId)
  if (account === undefined) throw new Error('a credit account that was just made is not there')
  const { balance } = account
  if (balance + entry.delta < 0) return { outcome: 'too little', balance }
  const named = { ...entry, reference: `operator:${reference ?? randomUUID()}` }
  const isNew = await insertOperatorEntry(tx, named)
  return isNew
    ? { outcome: 'entered', balance: balance + entry.delta }
    : { outcome: 'entered before' }
}
