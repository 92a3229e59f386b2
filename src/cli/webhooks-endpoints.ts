/** `assay webhooks endpoints`: where events are sent; disabled endpoints among them where asked for. */
import type { Config } from '../config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { wireEndpoint } from '../webhooks/endpoints.ts'
import {
  type EndpointRow,
  findActiveIds,
  findEndpoints,
  findIdsOf,
  findNewestIds,
} from '../webhooks/management-store.ts'
import { accountNamed } from './accounts.ts'
import { done, type Outcome } from './output.ts'
import { UsageError } from './run.ts'
import { withDatabase } from './with-database.ts'

export interface EndpointsFlags {
  account?: string
  all?: boolean
  limit: string
}

export function listEndpointsCommand(config: Config, flags: EndpointsFlags): Promise<Outcome> {
  const limit = /^\d{1,6}$/.test(flags.limit) ? Number(flags.limit) : 0
  if (limit < 1) throw new UsageError('--limit takes a number from 1 to 999999.')
  return withDatabase(config, async (db) => {
    const ids = await idsOf(db, { ...flags, limit })
    const rows = await findEndpoints(db, ids, systemClock())
    const endpoints = rows.map((row) => ({
      ...wireEndpoint(row),
      disabledReason: row.disabledReason,
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

function lineOf({ id, userId, url, eventTypes, disabledAt, disabledReason }: EndpointRow): string {
  const state =
    disabledAt === null ? 'active' : `disabled ${wireTime(disabledAt)} (${disabledReason})`
  return `${id}  account ${userId}  ${state}  ${eventTypes.join(',')}  ${url}`
}
