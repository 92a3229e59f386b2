/** How an account is named on the command line: by its id or its name. */
import { type Account, findAccount } from '../access/store.ts'
import type { Queryable } from '../platform/db.ts'
import { CommandError } from './run.ts'

/** Throws `CommandError` where there is none. */
export async function accountNamed(db: Queryable, named: string): Promise<Account> {
  const account = await findAccount(db, named)
  if (account === undefined) throw new CommandError(`There is no account ${JSON.stringify(named)}.`)
  return account
}
