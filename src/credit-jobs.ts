/** What a worker does for the books of credits. */
import { auditBooks } from './payments/audit-books.ts'
import { deletePurchases } from './payments/credit-store.ts'
import { purchasesEnd } from './payments/metering.ts'
import type { Clock } from './platform/clock.ts'
import type { Db } from './platform/db.ts'
import type { Log } from './platform/log.ts'
import type { Job } from './worker.ts'

export interface CreditJobsParts {
  db: Db
  log: Log
  clock: Clock
}

/** Each runs once at the start, and then every hour. */
export function creditJobs({ db, log, clock }: CreditJobsParts): Job[] {
  const everyMs = 3_600_000
  const audit = async (): Promise<void> => {
    const { broken } = await auditBooks(db, { now: clock(), fromStart: false })
    for (const { accountId: account, balance, entered } of broken) {
      const what = 'the books of an account do not add up: it is suspended'
      log.error(what, null, { account, balance, entered })
    }
  }
  const forget = () => deletePurchases(db, purchasesEnd(clock()))
  return [
    { name: 'audit the books', everyMs, run: audit },
    { name: 'forget purchases', everyMs, run: forget },
  ]
}
