/** Keeps `credit_usage` close behind the ledger. A crash leaves accounts for the next run. */
import type { Db } from '../platform/db/db.ts'
import { findAccountsToRollUp, rollUpUsage } from './usage-store.ts'

export async function rollUpAllUsage(db: Db): Promise<void> {
  for (const accountId of await findAccountsToRollUp(db))
    await db.transaction((tx) => rollUpUsage(tx, accountId))
}
