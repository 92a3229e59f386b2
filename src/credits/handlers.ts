/** The handlers of usage and credits. */
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Handlers } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import type { creditsContract } from './contract.ts'
import { ledgerCsv, wireCredits, wireUsage } from './examples.ts'
import { ledgerCsvType } from './schema.ts'
import { findCreditAccount } from './store.ts'
import { readPeriod } from './usage-period.ts'
import { findLedger, findUsage } from './usage-store.ts'

const csvEntriesMax = 10_000

export interface CreditsOptions {
  db: Db
  clock: Clock
  publicUrl: string
  /** Counts the calls of the request log. */
  callsByStatus(period: {
    accountId: string
    since: Date
    until: Date
  }): Promise<readonly { group: string; calls: number; credits: number }[]>
}

export function creditsHandlers({
  db,
  clock,
  publicUrl,
  callsByStatus,
}: CreditsOptions): Handlers<typeof creditsContract> {
  return {
    async getUsage({ caller: { accountId }, query }) {
      const read = readPeriod(query, clock())
      if ('fault' in read) return refuse('invalid_parameter', { message: read.fault })
      const { since, until, period } = read
      const { by } = query
      const rows =
        by === 'status'
          ? (await callsByStatus({ accountId, since, until })).map((row) => ({
              ...row,
              refunded: 0,
            }))
          : (await findUsage(db, { accountId, since, until }))[by]
      return { status: 200, body: wireUsage(period, by, rows) }
    },

    async getCredits({ caller: { accountId }, query }) {
      const limit = Number(query.limit)
      const before = query.cursor === undefined ? null : Number(query.cursor)
      const [account, rows] = await Promise.all([
        findCreditAccount(db, accountId),
        // One more than requested shows whether another page follows.
        findLedger(db, { accountId, before, limit: limit + 1 }),
      ])
      const entries = rows.slice(0, limit)
      const last = rows.length > limit ? entries.at(-1) : undefined
      const next = `${new URL('/api/account/credits', publicUrl).href}?limit=${limit}&cursor=${last?.seq}`
      return {
        status: 200,
        body: wireCredits(account, entries),
        ...(last && { headers: { Link: `<${next}>; rel="next"` } }),
      }
    },

    async getCreditsCsv({ caller: { accountId }, query: { cursor } }) {
      const before = cursor === undefined ? null : Number(cursor)
      const rows = await findLedger(db, { accountId, before, limit: csvEntriesMax + 1 })
      const entries = rows.slice(0, csvEntriesMax)
      const last = rows.length > csvEntriesMax ? entries.at(-1) : undefined
      const next = `${new URL('/api/account/credits.csv', publicUrl).href}?cursor=${last?.seq}`
      return {
        status: 200,
        body: null,
        text: ledgerCsv(entries),
        contentType: ledgerCsvType,
        ...(last && { headers: { Link: `<${next}>; rel="next"` } }),
      }
    },
  }
}
