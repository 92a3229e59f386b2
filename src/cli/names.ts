/** Finds things by the names that operators use for them. */
import { type Account, findAccount } from '../access/store.ts'
import type { Queryable } from '../platform/db/db.ts'
import { failure } from './fail.ts'

/** Returns the account with this name or id. Throws `Failure` if there is none. */
export async function accountNamed(db: Queryable, named: string): Promise<Account> {
  const account = await findAccount(db, named)
  if (account === undefined)
    throw failure(
      `There is no account with the name or id ${JSON.stringify(named)}. \`assay accounts list\` shows all accounts.`,
    )
  return account
}
