/** Background jobs of the credit ledger. */
import { deletePurchases, findAccountsToRollUp, rollUpUsage } from '../../billing/api.ts'
import { makeCreditMonths } from '../../billing/credits/archive.ts'
import { auditBooks } from '../../billing/credits/audit-books.ts'
import { purchasesEnd } from '../../billing/credits/metering.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Job } from '../../platform/job-runner.ts'
import type { Log } from '../../platform/observability/log.ts'

export interface CreditJobsOptions {
  db: Db
  log: Log
  clock: Clock
}

/** Each job runs once at the start, and then every hour; usage is rolled up every five minutes. */
export function creditJobs({ db, log, clock }: CreditJobsOptions): Job[] {
  const everyMs = 3_600_000
  const audit = async (): Promise<void> => {
    const { broken } = await auditBooks(db, { now: clock(), fromStart: false })
    for (const { accountId: account, balance, entered } of broken) {
      const message = 'the ledger of an account does not add up: the account is suspended'
      log.error(message, null, { account, balance, entered })
    }
  }
  const make = async (): Promise<void> => {
    for (const month of await makeCreditMonths(db, clock()))
      log.info('created the ledger partition of a month', { month })
  }
  const forget = () => deletePurchases(db, purchasesEnd(clock()))
  return [
    { name: 'audit the books', everyMs, run: audit },
    { name: 'make months of the books', everyMs, run: make },
    { name: 'forget purchases', everyMs, run: forget },
    { name: 'roll up usage', everyMs: 300_000, run: () => rollUpAllUsage(db) },
  ]
}

/** Keeps `credit_usage` close behind the ledger. A crash leaves accounts for the next run. */
export async function rollUpAllUsage(db: Db): Promise<void> {
  for (const accountId of await findAccountsToRollUp(db))
    await db.transaction((tx) => rollUpUsage(tx, accountId))
}
