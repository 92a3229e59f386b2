/** The background jobs, except those of webhooks (`../webhooks.ts`). */
import { deleteEndedSessions } from '../../accounts/api.ts'
import { keepRequestLogDays } from '../../accounts/request-log/days.ts'
import { sessionTimes } from '../../accounts/sessions.ts'
import { sweepRateWindows } from '../../edge/rate-limit/shared-limiter.ts'
import { deleteOldReplays } from '../../operations/api.ts'
import type { Job } from '../../platform/job-runner.ts'
import { sweepReports } from '../../reports/retention.ts'
import { issueRuleOf, scoringRulesOf } from '../../scoring/scores/scoring.ts'
import { scoringVocabulary } from '../../scoring/scores/scoring-vocabulary.ts'
import { loadReleasedVocabulary } from '../../standard/releases.ts'
import { searchIndexer } from '../../workers/candidates/search-indexer.ts'
import { skillNames } from '../../workers/candidates/skill-names.ts'
import type { Service, ServiceOptions } from '../http-app.ts'
import { backgroundPaymentJobs } from '../payments.ts'
import { statusListJobs } from '../signing.ts'
import { creditJobs } from './credits.ts'
import { scoreJobs } from './scores.ts'

export function backgroundJobs(
  { config, db, log, clock, x402, engine: { engine } }: ServiceOptions,
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
      run: searchIndexer(db, skillNames(vocabulary.records)),
    },
    ...scoreJobs({ db, clock, log, rules, signing }),
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
      run: () => keepRequestLogDays(db, { days: config.requestLogDays, now: clock() }),
    },
    {
      name: 'delete old replays',
      everyMs: 3_600_000,
      run: () => deleteOldReplays(db, clock()),
    },
    ...backgroundPaymentJobs(x402),
  ]
}
