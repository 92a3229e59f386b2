/** The handler of the ledger as a table. */
import type { Handlers } from '../../edge/http/endpoint.ts'
import type { Db } from '../../platform/db/db.ts'
import { type creditsContract, ledgerCsvType } from './contract.ts'
import { ledgerCsv } from './schema.ts'
import { findLedger } from './usage-store.ts'

const csvEntriesMax = 10_000

export function creditsHandlers({
  db,
  publicUrl,
}: {
  db: Db
  publicUrl: string
}): Handlers<typeof creditsContract> {
  return {
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
