/**
 * Audits the ledger: the balance of each account must equal the sum of its entries. If it does not,
 * the account is suspended. Calls on a suspended account are answered with 503 until an operator
 * lifts the suspension.
 */
import type { Queryable } from '../../platform/db/db.ts'
import { type Book, findBook, findCreditAccountIds, updateSuspended, upsertAudit } from './store.ts'

export interface BooksAudited {
  accounts: number
  /** Accounts whose balance differs from their entries. */
  broken: Book[]
  /** Suspended accounts whose balance is right again. */
  repaired: string[]
}

const pageRows = 500
const firstId = '00000000-0000-0000-0000-000000000000'

export interface AuditOptions {
  now: Date
  /** True adds up every entry again; false adds up the entries since the last audit. */
  fromStart: boolean
}

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
