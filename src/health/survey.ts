/**
 * What every process can tell of the whole service: the processes, their jobs, and the work that
 * waits. It is read at most once in ten seconds, however many scrapes and probes ask.
 */
import { atMostEvery } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import { type Queryable, sql } from '../platform/db/db.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { type Backlog, findBacklog, findHeartbeats } from './heartbeat.ts'
import { countAbilities, type JobHistory, type Processes, processesOf } from './processes.ts'

export interface Survey extends Processes {
  backlog: Backlog
  at: Date
}

export async function readSurvey(db: Queryable, now: Date): Promise<Survey> {
  const [heartbeats, backlog] = await Promise.all([findHeartbeats(db), findBacklog(db)])
  return { ...processesOf(heartbeats, now), backlog, at: now }
}

/** A reader for probes and metrics. */
export interface SurveyReader {
  /** Reads the survey, or shares what was read in the last ten seconds. */
  read(): Promise<Survey>
  /** Returns the last survey that was read. */
  last(): Survey | undefined
}

const sharedMs = 10_000

export function openSurvey(db: Queryable, clock: Clock): SurveyReader {
  let last: Survey | undefined
  return {
    read: atMostEvery(sharedMs, async () => {
      last = await readSurvey(db, clock())
      return last
    }),
    last: () => last,
  }
}

/** Publishes the survey. While the database does not answer, the last one stays published. */
export function publishSurvey(metrics: Metrics, survey: SurveyReader, clock: Clock): void {
  const { gauge, gauges } = metrics
  metrics.beforeScrape(survey.read)
  const secondsSince = (time: Date) => Math.max(0, (clock().getTime() - time.getTime()) / 1_000)
  const timeGauge = (name: string, help: string, time: (backlog: Backlog) => Date | null) =>
    gauge(name, help, () => {
      const found = survey.last()
      if (found === undefined) return Number.NaN
      const since = time(found.backlog)
      return since === null ? 0 : secondsSince(since)
    })
  const countGauge = (name: string, help: string, count: (backlog: Backlog) => number) =>
    gauge(name, help, () => {
      const found = survey.last()
      return found === undefined ? Number.NaN : count(found.backlog)
    })
  const jobGauge = (name: string, help: string, value: (job: JobHistory) => number) =>
    gauges({ name, help, labels: ['name'] }, () =>
      Object.fromEntries((survey.last()?.jobs ?? []).map((job) => [job.name, value(job)])),
    )
  const live = () => survey.last()?.live ?? []

  gauge('survey_age_seconds', 'Age of the figures about the whole service.', () => {
    const found = survey.last()
    return found === undefined ? Number.NaN : secondsSince(found.at)
  })
  gauges(
    { name: 'processes', help: 'Live processes, by what they can do.', labels: ['does'] },
    () => countAbilities(live()),
  )
  gauges({ name: 'processes_by_release', help: 'Live processes.', labels: ['release'] }, () => {
    const byRelease = Map.groupBy(live(), ({ release }) => release)
    return Object.fromEntries([...byRelease].map(([release, all]) => [release, all.length]))
  })
  jobGauge(
    'job_last_run_timestamp_seconds',
    'Last run of a background job in any process.',
    ({ ranAt }) => (ranAt?.getTime() ?? 0) / 1_000,
  )
  jobGauge(
    'job_last_success_timestamp_seconds',
    'Last success of a background job in any process.',
    ({ succeededAt }) => (succeededAt?.getTime() ?? 0) / 1_000,
  )
  jobGauge('job_late', '1 if the last success of a background job is overdue.', ({ isLate }) =>
    isLate ? 1 : 0,
  )
  timeGauge(
    'scores_oldest_due_seconds',
    'How long the worker that waits longest to be scored has waited.',
    ({ scoreDueSince }) => scoreDueSince,
  )
  timeGauge(
    'webhook_oldest_undispatched_seconds',
    'Age of the oldest event that waits for its deliveries.',
    ({ eventUndispatchedSince }) => eventUndispatchedSince,
  )
  timeGauge(
    'status_list_oldest_seconds',
    'Age of the oldest published status list.',
    ({ listPublishedAt }) => listPublishedAt,
  )
  countGauge('mails_waiting', 'Mails that are not sent yet.', ({ mailsWaiting }) => mailsWaiting)
  countGauge(
    'disputes_overdue',
    'Open disputes past their time.',
    ({ disputesOverdue }) => disputesOverdue,
  )
  countGauge(
    'api_keys_ending',
    'API keys that end within seven days.',
    ({ apiKeysEnding }) => apiKeysEnding,
  )
  countGauge(
    'credit_books_differing',
    'Accounts that are suspended, because their balance is not the sum of their entries.',
    ({ booksDiffering }) => booksDiffering,
  )
  countGauge(
    'wal_archive_failing',
    "1 if the archive refused the last segment of PostgreSQL's log.",
    ({ isArchiveFailing }) => (isArchiveFailing ? 1 : 0),
  )
  countGauge(
    'scores_without_credential',
    'Public scores whose credential was revoked and is not replaced yet.',
    ({ scoresWithoutCredential }) => scoresWithoutCredential,
  )
}

/** A larger number of rows is the estimate of the database's statistics. */
export const countedMax = 10_000

export interface Totals {
  workers: number
  publicScores: number
  evidence: number
  accounts: number
}

/** It takes no longer for a million workers than for ten. */
export async function findTotals(db: Queryable): Promise<Totals> {
  const [row] = await db.rows<Totals>(sql`
    with counted (name, counted) as (values
      ('workers', (select count(*) from (select from workers limit ${countedMax + 1}) few)),
      ('readable_scores', (select count(*) from (select from readable_scores limit ${countedMax + 1}) few)),
      ('evidence', (select count(*) from (select from evidence limit ${countedMax + 1}) few)),
      ('accounts', (select count(*) from (select from accounts limit ${countedMax + 1}) few))
    ), sized as (
      select name, case when counted <= ${countedMax} then counted else greatest(counted, reltuples::bigint) end as size
      from counted join pg_class on oid = to_regclass(name))
    select max(size) filter (where name = 'workers')::int as workers,
      max(size) filter (where name = 'readable_scores')::int as "publicScores",
      max(size) filter (where name = 'evidence')::int as evidence,
      max(size) filter (where name = 'accounts')::int as accounts
    from sized`)
  if (row === undefined) throw new Error('the totals have one row')
  return row
}
