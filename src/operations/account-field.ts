/** The account of an operation: an operator names it, a member or a key has one. */
import { Type } from 'typebox'
import type { Queryable } from '../platform/db/db.ts'
import type { Refusal } from '../platform/errors.ts'
import type { Owner } from './operation.ts'

export interface AccountServices {
  accounts: {
    named(db: Queryable, text: string): Promise<NamedAccount | Refusal<'account_not_found'>>
    /** Returns the names of accounts by id. */
    names(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  }
}

export interface NamedAccount {
  id: string
  name: string
}

export const accountField = Type.String({
  minLength: 1,
  maxLength: 120,
  description: 'name or id of the account',
  'x-shown-by': 'accounts list',
})

/** Returns the account of a member or a key, whatever `text` says, and of an operator the named one. */
export async function ownerNamed(
  db: Queryable,
  text: string,
  { owner, services }: { owner: Owner; services: AccountServices },
): Promise<NamedAccount | Refusal<'account_not_found'>> {
  return services.accounts.named(db, owner === 'any' ? text : owner.userId)
}

/** Adds the name of the account to rows that have its id as `userId`. */
export async function withAccounts<Row extends { userId: string }>(
  db: Queryable,
  rows: readonly Row[],
  { accounts }: AccountServices,
): Promise<(Row & { account: string })[]> {
  const names = await accounts.names(db, [...new Set(rows.map(({ userId }) => userId))])
  return rows.map((row) => ({ ...row, account: names.get(row.userId) ?? row.userId }))
}

/** Returns the owner of the rows of a list: null means all, for an operator that names no account. */
export async function listOwner(
  db: Queryable,
  text: string | undefined,
  context: { owner: Owner; services: AccountServices },
): Promise<Owner | Refusal<'account_not_found'>> {
  if (text === undefined || context.owner !== 'any') return context.owner
  const account = await context.services.accounts.named(db, text)
  return 'refusal' in account ? account : { userId: account.id }
}
