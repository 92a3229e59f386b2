/** The background jobs, except those of webhooks (`../webhooks.ts`). */
import { deleteEndedSessions, keepRequestLogDays } from '../../accounts/api.ts'
import { sessionTimes } from '../../accounts/sessions.ts'
import { deletePurchases, findAccountsToRollUp, rollUpUsage } from '../../billing/api.ts'
import { makeCreditMonths } from '../../billing/credits/archive.ts'
import { auditBooks } from '../../billing/credits/credits.ts'
import { purchasesEnd } from '../../billing/credits/metering.ts'
import { sweepRateWindows } from '../../edge/rate-limit/shared-limiter.ts'
import { deleteOldReplays } from '../../operations/api.ts'
import type { Clock } from '../../platform/clock.ts'
import { answeringNobody, type Db } from '../../platform/db/db.ts'
import type { Job } from '../../platform/job-runner.ts'
import type { Log } from '../../platform/observability/log.ts'
import { sweepReports } from '../../reports/api.ts'
import { issueRuleOf, scoringRulesOf, scoringVocabulary } from '../../scoring/scores/scoring.ts'
import { loadReleasedVocabulary } from '../../standard/releases.ts'
import { searchIndexer } from '../../workers/candidates/search-indexer.ts'
import { skillNames } from '../../workers/candidates/skill-names.ts'
import type { ServiceOptions } from '../context.ts'
import type { Service } from '../http-app.ts'
import { backgroundPaymentJobs } from '../payments.ts'
import { statusListJobs } from '../signing.ts'
import { scoreJobs } from './scores.ts'

export function backgroundJobs(
  { config, db, callsDb, log, clock, x402, engine: { engine } }: ServiceOptions,
  signing: Pick<Service, 'issuer' | 'whyUnsigned'>,
): Job[] {
  const vocabulary = loadReleasedVocabulary()
  const rules =
    engine && scoringRulesOf(engine, scoringVocabulary(vocabulary.records), issueRuleOf(config))
  return [
    ...statusListJobs(db, clock, signing),
    { name: 'sweep rate limits', everyMs: 3_600_000, run: () => sweepRateWindows(db) },
    {
      name: 'index candidates',
      everyMs: 1_000,
      run: searchIndexer(answeringNobody(db), skillNames(vocabulary.records)),
    },
    ...scoreJobs({ db: answeringNobody(db), clock, log, rules, signing }),
    ...creditJobs({ db, log, clock }),
    {
      name: 'sweep agent decision reports',
      everyMs: 3_600_000,
      run: () => sweepReports(db, { days: config.agentReportsDays, now: clock() }),
    },
    {
      name: 'delete ended sessions',
      everyMs: 3_600_000,
      run: () => deleteEndedSessions(db, sessionTimes(config.sessions, clock())),
    },
    {
      name: 'keep days of the request log',
      everyMs: 3_600_000,
      // After a change of the setting, the calls in the main database end as they would have.
      run: async () => {
        for (const each of new Set([db, callsDb]))
          await keepRequestLogDays(each, { days: config.requestLogDays, now: clock() })
      },
    },
    {
      name: 'delete old replays',
      everyMs: 3_600_000,
      run: () => deleteOldReplays(db, clock()),
    },
    ...backgroundPaymentJobs(x402),
  ]
}

interface CreditJobsOptions {
  db: Db
  log: Log
  clock: Clock
}

/** Each job runs once at the start, and an hour after a success; usage is rolled up more often. */
function creditJobs({ db, log, clock }: CreditJobsOptions): Job[] {
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
