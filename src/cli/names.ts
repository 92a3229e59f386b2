/** Finds things by the names that operators use for them. */
import { type Account, findAccount } from '../access/store.ts'
import type { Queryable } from '../platform/db/db.ts'
import { findWorkers, type Worker } from '../workers/store.ts'
import { failure, unknownWorker } from './fail.ts'

/** Returns the account with this name or id. Throws `Failure` if there is none. */
export async function accountNamed(db: Queryable, named: string): Promise<Account> {
  const account = await findAccount(db, named)
  if (account === undefined)
    throw failure(
      `There is no account with the name or id ${JSON.stringify(named)}. \`assay accounts list\` shows all accounts.`,
    )
  return account
}

/** Returns the worker with this username. Throws `Failure` if there is none. */
export async function workerNamed(db: Queryable, username: string): Promise<Worker> {
  const [worker] = await findWorkers(db, { usernames: [username] })
  if (worker === undefined) throw unknownWorker(username)
  return worker
}
