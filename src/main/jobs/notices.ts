/** The job that queues notices by mail, to owners of accounts and to the operator. */
import { findAccountNames, findEndingKeys } from '../../accounts/api.ts'
import { type DueNotice, ownerNotices, queueNotices } from '../../accounts/notices.ts'
import type { OwnerNotice } from '../../audit/account-actions.ts'
import { findLowCredits } from '../../billing/api.ts'
import type { Config } from '../../config/config.ts'
import { type NeedName, needPages, needsOf } from '../../health/needs.ts'
import { type NeedServices, readNeedFacts } from '../../health/status-operation.ts'
import { readSurvey } from '../../health/survey.ts'
import type { Clock } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import type { Db, Queryable } from '../../platform/db/db.ts'
import type { Job } from '../../platform/job-runner.ts'
import { findNoticedEndpoints } from '../../webhooks/api.ts'

export interface NoticeJobOptions {
  db: Db
  clock: Clock
  config: Pick<Config, 'publicUrl' | 'notices' | 'metering' | 'prices'>
  services: NeedServices
}

const everyMs = 300_000
/** Needs of the operator repeat once a day until they are mended. */
const needEveryHours = 24

export function noticeJob(options: NoticeJobOptions): Job {
  let before: ReadonlySet<string> = new Set()
  return {
    name: 'queue notices',
    everyMs,
    async run() {
      try {
        await queueOwnerNotices(options)
      } finally {
        before = await queueNeeds(options, before)
      }
    },
  }
}

/**
 * The same for a server whose background jobs run elsewhere: while none run, it queues the needs of
 * the operator, and sends the notices itself.
 */
export function lostJobsJob(options: NoticeJobOptions, send: Job['run']): Job {
  let before: ReadonlySet<string> = new Set()
  return {
    name: 'mail that no jobs run',
    everyMs,
    async run(signal) {
      before = await queueNeeds(options, before, 'processes')
      if (before.has('processes')) await send(signal)
    },
  }
}

/**
 * Queues the needs that this process saw in two runs, so that a moment is no notice. Returns the
 * names of all needs. With `only`, it queues none unless this need is among them.
 */
export async function queueNeeds(
  { db, clock, config, services }: NoticeJobOptions,
  before: ReadonlySet<string>,
  only?: NeedName,
): Promise<ReadonlySet<string>> {
  const { publicUrl, notices } = config
  if (notices.to.length === 0) return before
  const now = clock()
  const [survey, facts] = await Promise.all([readSurvey(db, now), readNeedFacts(db, services)])
  const needs = needsOf(survey, facts, now)
  const seenTwice = needs.filter(({ name }) => before.has(name))
  const isDue = only === undefined || seenTwice.some(({ name }) => name === only)
  const due = (isDue ? seenTwice : [])
    .filter(({ name }) => !notices.off.includes(name))
    .map(({ name, title, text }) => ({
      name,
      title: name,
      everyHours: needEveryHours,
      text: `${title}. ${text}`,
      url: `${publicUrl}/docs/${needPages[name]}`,
    }))
  const operator = { accountId: null, of: 'The service', emails: notices.to }
  await queueNotices(db, operator, due, now)
  return new Set(needs.map(({ name }) => name))
}

export async function queueOwnerNotices({
  db,
  clock,
  config,
}: Pick<NoticeJobOptions, 'db' | 'clock' | 'config'>): Promise<void> {
  const now = clock()
  const all = await findOwnerNotices(db, config, now)
  const byAccount = Map.groupBy(all, ({ accountId }) => accountId)
  const names = await findAccountNames(db, [...byAccount.keys()])
  for (const [accountId, found] of byAccount) {
    const notices = found.map(({ name, text, happenedAt }): DueNotice => {
      const { title, everyHours, path } = ownerNotices[name]
      const once = happenedAt === undefined ? {} : { happenedAt }
      return { name, title, everyHours, text, url: config.publicUrl + path, ...once }
    })
    await queueNotices(db, { accountId, of: names.get(accountId) ?? accountId }, notices, now)
  }
}

interface FoundNotice {
  accountId: string
  name: OwnerNotice
  text: string
  happenedAt?: Date
}

/** Returns at most one notice of each name for an account. */
async function findOwnerNotices(
  db: Queryable,
  { metering, prices }: NoticeJobOptions['config'],
  now: Date,
): Promise<FoundNotice[]> {
  const paid = metering ? Object.values(prices).filter((price) => price > 0) : []
  const cheapest = Math.min(...paid)
  const [endpoints, low, keys] = await Promise.all([
    findNoticedEndpoints(db, now),
    paid.length === 0 ? [] : findLowCredits(db, cheapest, now),
    findEndingKeys(db, now),
  ])
  const found: FoundNotice[] = low.map(({ accountId, balance }) => {
    const left = `${counted(balance, 'credit is', 'credits are')} left`
    return balance < cheapest
      ? {
          accountId,
          name: 'credits_gone',
          text: `${left}, and the cheapest read costs ${cheapest}: paid reads get 402.`,
        }
      : {
          accountId,
          name: 'credits_low',
          text: `${left}, less than the use of the last seven days.`,
        }
  })
  for (const [accountId, own] of Map.groupBy(endpoints, ({ userId }) => userId)) {
    const hostsOf = (some: typeof own) =>
      [...new Set(some.map(({ url }) => new URL(url).host))].join(', ')
    const failing = own.filter(({ disabledAt }) => disabledAt === null)
    const times = own.flatMap(({ disabledAt }) => disabledAt ?? [])
    const happenedAt = times.toSorted((a, b) => Number(b) - Number(a))[0]
    if (failing.length > 0)
      found.push({
        accountId,
        name: 'webhooks_failing',
        text: `${counted(failing.length, 'webhook endpoint fails', 'webhook endpoints fail')}: ${hostsOf(failing)}.`,
      })
    if (happenedAt !== undefined)
      found.push({
        accountId,
        name: 'webhooks_disabled',
        text: `${counted(times.length, 'webhook endpoint was', 'webhook endpoints were')} disabled by the service: ${hostsOf(own.filter(({ disabledAt }) => disabledAt !== null))}.`,
        happenedAt,
      })
  }
  for (const [accountId, own] of Map.groupBy(keys, (key) => key.accountId))
    found.push({
      accountId,
      name: 'key_ends',
      text: `${counted(own.length, 'API key ends', 'API keys end')} within a week: ${own.map(({ name, expiresAt }) => `${name} on ${expiresAt.toISOString().slice(0, 10)}`).join(', ')}.`,
    })
  return found
}
