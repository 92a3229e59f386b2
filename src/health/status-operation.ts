/** One screen of the whole service: processes, jobs, work that waits, and what needs the operator. */
import { Type } from 'typebox'
import { orNull, time } from '../operations/fields.ts'
import { operationsFor } from '../operations/operation.ts'
import { counted } from '../platform/counted.ts'
import type { Queryable } from '../platform/db/db.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'
import { countDeliveries, countFailingEndpoints } from '../webhooks/api.ts'
import { type NeedFacts, needsOf } from './needs.ts'
import { readSurvey } from './survey.ts'

export type StatusServices = NeedServices

const { read } = operationsFor<StatusServices>()

const count = Type.Integer()
const sinceOrNull = orNull(time, 'Null if nothing waits.')

const status = closedObject({
  asOf: time,
  processes: listOf({
    node: Type.String(),
    pid: count,
    release: Type.String(),
    serves: Type.Boolean(),
    runsJobs: Type.Boolean(),
    signs: Type.Boolean(),
    seenAt: time,
  }),
  jobs: listOf({
    name: Type.String(),
    succeededAt: orNull(time, 'Null if it has not succeeded yet.'),
    error: orNull(Type.String(), 'Null unless the last run failed.'),
    late: Type.Boolean(),
  }),
  queues: closedObject({
    scoreDueSince: sinceOrNull,
    eventUndispatchedSince: sinceOrNull,
    deliveriesPending: count,
    mailsWaiting: count,
    scoresWithoutCredential: count,
  }),
  keys: closedObject({
    signingKey: orNull(Type.String(), 'Null if none is active.'),
    statusListPublishedAt: orNull(time, 'Of the oldest list; null if there is none.'),
    apiKeysEnding: count,
  }),
  booksDiffering: count,
  disputesOverdue: count,
  webhooks: closedObject({ active: count, failing: count, paused: count, disabled: count }),
  needs: Type.Array(Type.String(), {
    description: 'What needs the operator; empty if all is well.',
  }),
})

export const serviceStatus = read({
  name: 'service status',
  http: 'GET /status',
  summary: 'Show the state of the whole service on one screen',
  who: { operator: 'viewer' },
  output: status,
  finding: 'needs',
  renderLines({ processes, jobs, queues, keys, booksDiffering, disputesOverdue, webhooks, needs }) {
    const serving = processes.filter(({ serves }) => serves).length
    const working = processes.filter(({ runsJobs }) => runsJobs).length
    const releases = [...new Set(processes.map(({ release }) => release))].join(' and ')
    const failing = jobs.filter(({ late, error }) => late || error !== null)
    const line = (name: string, text: string) => `${name.padEnd(10)}${text}`
    return [
      line(
        'processes',
        processes.length === 0
          ? 'none runs'
          : `${serving} serve requests, ${working} run background jobs; release ${releases}`,
      ),
      line('jobs', `${counted(jobs.length, 'job')}, ${failing.length} fail or are late`),
      line(
        'queues',
        `scores due since ${queues.scoreDueSince ?? '-'}, events since ${queues.eventUndispatchedSince ?? '-'}; ${counted(queues.deliveriesPending, 'delivery', 'deliveries')} and ${counted(queues.mailsWaiting, 'mail')} wait`,
      ),
      line('books', `${counted(booksDiffering, 'account')} suspended because the books differ`),
      line('disputes', `${disputesOverdue} overdue`),
      line(
        'keys',
        `signing key ${keys.signingKey ?? 'none is active'}; oldest status list ${keys.statusListPublishedAt ?? '-'}; ${counted(keys.apiKeysEnding, 'API key ends', 'API keys end')} within 7 days`,
      ),
      line(
        'webhooks',
        `${counted(webhooks.active, 'active endpoint')}: ${webhooks.failing} fail, ${webhooks.paused} paused; ${webhooks.disabled} disabled`,
      ),
      ...(needs.length === 0 ? ['', 'All is well.'] : ['', 'Needs you:']),
      ...needs.map((need) => `  ${need}`),
    ]
  },
  async run(db, _input, { now, services }) {
    const [survey, deliveries, facts] = await Promise.all([
      readSurvey(db, now),
      countDeliveries(db, now),
      readNeedFacts(db, services),
    ])
    const { live, jobs, backlog } = survey
    // One count, so that the answer does not contradict itself.
    const counts = { ...facts, failingEndpoints: deliveries.failing }
    const needs = needsOf(survey, counts, now).map(({ title, text }) => `${title}. ${text}`)
    return {
      asOf: now,
      processes: live.map((one) => ({ ...one, runsJobs: one.jobs !== null })),
      jobs: jobs.map((job) => ({ ...job, late: job.isLate })),
      queues: { ...backlog, deliveriesPending: deliveries.pending },
      keys: {
        ...backlog,
        signingKey: facts.activeKey,
        statusListPublishedAt: backlog.listPublishedAt,
      },
      booksDiffering: backlog.booksDiffering,
      disputesOverdue: backlog.disputesOverdue,
      webhooks: deliveries,
      needs,
    }
  },
})

export interface NeedServices {
  /** The kid of the active signing key, or null. */
  activeKey(db: Queryable): Promise<string | null>
  /** Whether the engine of this release was recalled. */
  isEngineRecalled(db: Queryable): Promise<boolean>
}

export async function readNeedFacts(db: Queryable, services: NeedServices): Promise<NeedFacts> {
  const [activeKey, isEngineRecalled, failingEndpoints] = await Promise.all([
    services.activeKey(db),
    services.isEngineRecalled(db),
    countFailingEndpoints(db, null),
  ])
  return { activeKey, isEngineRecalled, failingEndpoints }
}
