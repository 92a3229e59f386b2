/** Enters grants and adjustments of operators into the ledger, and audits it. */
import { randomUUID } from 'node:crypto'
import { recordAction } from '../../audit/record.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable, Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import {
  type Book,
  findBook,
  findCreditAccountIds,
  findEqualEntry,
  findOperatorEntry,
  insertCreditAccount,
  insertOperatorEntry,
  lockCreditAccount,
  type OperatorEntry,
  updateSuspended,
  upsertAudit,
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
  /** The name of the account in a refusal. */
  accountName?: string
}

type Entered =
  | { balance: number; reference: string }
  | Refusal<'credit_entry_repeated' | 'credit_reference_used' | 'credits_too_few'>

/** Enters `delta` whole credits. Only an adjustment may be below 0. */
export async function enterCredits(
  tx: Tx,
  { reference: given, isFirst = false, accountName = 'The account', ...entry }: Entry,
): Promise<Entered> {
  await insertCreditAccount(tx, entry.accountId)
  const account = await lockCreditAccount(tx, entry.accountId)
  if (account === undefined) throw new Error('a credit account that was just made is not there')
  const reference = given ?? randomUUID()
  const named = { ...entry, reference: `operator:${reference}` }
  const before = given === undefined ? null : await enteredBefore(tx, named, reference)
  if (before !== null) return before
  const equal = isFirst ? await findEqualEntry(tx, entry) : undefined
  if (equal !== undefined)
    return refuse('credit_entry_repeated', {
      message: `${accountName} got ${signed(entry.delta)} credits at ${wireTime(equal.at)}, under the reference ${equal.reference}. Nothing was changed.`,
    })
  const { balance } = account
  if (balance + entry.delta < 0)
    return refuse('credits_too_few', {
      message: `${accountName} has ${counted(balance, 'credit')}, and a balance never goes below zero. Nothing was changed.`,
    })
  if (await insertOperatorEntry(tx, named)) return { balance: balance + entry.delta, reference }
  // A concurrent transaction used the reference for another account, so its lock did not stop us.
  const meanwhile = await enteredBefore(tx, named, reference)
  if (meanwhile === null) throw new Error('an entry was not made, and is not there')
  return meanwhile
}

/** Enters credits with their audit entry in the transaction of another action. */
export async function grantCredits(
  tx: Tx,
  entry: Omit<Entry, 'kind'>,
  { actor, now }: { actor: string; now: Date },
): Promise<void> {
  const entered = await enterCredits(tx, { ...entry, kind: 'grant' })
  if ('refusal' in entered) return
  const details = { credits: entry.delta, balance: entered.balance }
  const subjects = [entry.accountId]
  await recordAction(tx, { action: 'credits.granted', subjects, details, actor }, now)
}

export function signed(delta: number): string {
  return `${delta > 0 ? '+' : ''}${delta}`
}

async function enteredBefore(tx: Tx, entry: OperatorEntry, reference: string) {
  const before = await findOperatorEntry(tx, entry.reference)
  if (before === undefined) return null
  const { accountId, kind, delta } = before
  const isSame = accountId === entry.accountId && kind === entry.kind && delta === entry.delta
  return refuse('credit_reference_used', {
    message: `The reference ${reference} ${isSame ? 'was entered before' : 'belongs to another entry'}. Nothing was changed.`,
  })
}

export interface BooksAudited {
  accounts: number
  /** Accounts whose balance differs from their entries. */
  broken: Book[]
  /** Suspended accounts whose balance is right again. */
  repaired: string[]
}

const pageRows = 500
const firstId = '00000000-0000-0000-0000-000000000000'

interface AuditOptions {
  now: Date
  /** True adds up every entry again; false adds up the entries since the last audit. */
  fromStart: boolean
}

/**
 * Audits the ledger: the balance of each account must equal the sum of its entries. If it does not,
 * the account is suspended. Calls on a suspended account are answered with 503 until an operator
 * lifts the suspension.
 */
export async function auditBooks(db: Queryable, options: AuditOptions): Promise<BooksAudited> {
  const found: BooksAudited = { accounts: 0, broken: [], repaired: [] }
  for (let after = firstId; ; ) {
    const ids = await findCreditAccountIds(db, { after, limit: pageRows })
    for (const id of ids) await auditBook(db, id, { ...options, found })
    const last = ids.at(-1)
    if (last === undefined) return found
    after = last
  }
}

async function auditBook(
  db: Queryable,
  accountId: string,
  { now, fromStart, found }: AuditOptions & { found: BooksAudited },
): Promise<void> {
  const book = await findBook(db, accountId, fromStart)
  if (book === undefined) return
  found.accounts++
  if (book.entered === book.balance) {
    await upsertAudit(db, book, now)
    if (book.isSuspended) found.repaired.push(accountId)
    return
  }
  found.broken.push(book)
  if (!book.isSuspended) await updateSuspended(db, accountId, now)
}
