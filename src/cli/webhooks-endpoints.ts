/** `assay webhooks endpoints`: where events are sent; disabled endpoints among them, or failing ones alone, where asked for. */
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { type FailingNow, findFailingNow } from '../webhooks/delivery/endpoint-store.ts'
import { wireEndpoint } from '../webhooks/endpoints/handlers.ts'
import {
  type EndpointRow,
  findActiveIds,
  findEndpoints,
  findIdsOf,
  findNewestIds,
} from '../webhooks/endpoints/store.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { accountNamed } from './names.ts'
import { done, type Outcome } from './output.ts'

export interface EndpointsFlags {
  account?: string
  all?: boolean
  failing?: boolean
  limit: string
}

export function listEndpointsCommand(config: Config, flags: EndpointsFlags): Promise<Outcome> {
  const limit = /^\d{1,6}$/.test(flags.limit) ? Number(flags.limit) : 0
  if (limit < 1) throw usageError('--limit takes a number from 1 to 999999.')
  if (flags.failing && flags.all)
    throw usageError('--failing shows active endpoints; leave --all out.')
  return withDatabase(config, async (db) => {
    if (flags.failing) return failingEndpoints(db, { account: flags.account, limit })
    const ids = await idsOf(db, { ...flags, limit })
    const rows = await findEndpoints(db, ids, systemClock())
    const endpoints = rows.map((row) => ({
      ...wireEndpoint(row),
      disabledReason: row.disabledReason,
      perSecond: row.perSecond,
    }))
    return done(
      { ok: true, endpoints },
      rows.length > 0 ? rows.map(lineOf) : ['There is no webhook endpoint.'],
    )
  })
}

async function idsOf(
  db: Db,
  { account, all: disabledToo = false, limit }: Omit<EndpointsFlags, 'limit'> & { limit: number },
): Promise<string[]> {
  if (account === undefined) return findNewestIds(db, { limit, disabledToo })
  const { id } = await accountNamed(db, account)
  return disabledToo ? findIdsOf(db, id) : findActiveIds(db, id)
}

/** What they fail with, and since when. */
async function failingEndpoints(
  db: Db,
  { account, limit }: { account: string | undefined; limit: number },
): Promise<Outcome> {
  const owner = account === undefined ? 'any' : { userId: (await accountNamed(db, account)).id }
  const failing = await findFailingNow(db, { owner, limit })
  const ids = failing.map(({ id }) => id)
  const rows = new Map(
    (await findEndpoints(db, ids, systemClock())).map((row) => [row.id, row] as const),
  )
  const endpoints = failing.flatMap(({ id, ...health }) => {
    const row = rows.get(id)
    return row === undefined ? [] : [{ row, health }]
  })
  return done(
    {
      ok: true,
      endpoints: endpoints.map(({ row, health }) => ({ ...wireEndpoint(row), health })),
    },
    endpoints.length > 0 ? endpoints.map(failingLineOf) : ['No webhook endpoint fails.'],
  )
}

function failingLineOf({ row, health }: { row: EndpointRow; health: Health }): string {
  const { failingSince, consecutiveFailures, responseStatus, errorCode, waiting } = health
  const came = [responseStatus, errorCode].filter((part) => part !== null).join(' ')
  return (
    `${row.id}  account ${row.userId}  fails since ${wireTime(failingSince)}, ` +
    `${consecutiveFailures} attempts, last ${came || 'unknown'}  ${waiting} waiting  ${row.url}`
  )
}

type Health = Omit<FailingNow, 'id'>

function lineOf(row: EndpointRow): string {
  const { id, userId, url, eventTypes, disabledAt, disabledReason, perSecond } = row
  const state =
    disabledAt === null ? 'active' : `disabled ${wireTime(disabledAt)} (${disabledReason})`
  const rate = perSecond === null ? '' : `  at most ${perSecond} a second`
  return `${id}  account ${userId}  ${state}${rate}  ${eventTypes.join(',')}  ${url}`
}
