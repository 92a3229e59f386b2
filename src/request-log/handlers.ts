/** The handler of the request log. */
import type { Static } from 'typebox'
import type { Db } from '../platform/db/db.ts'
import type { Handlers } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import type { requestLogContract } from './contract.ts'
import { readLogFilter } from './log-filter.ts'
import type { requestLog } from './schema.ts'
import { findEntries, type LogEntry } from './store.ts'

export interface RequestLogOptions {
  db: Db
  publicUrl: string
}

export function requestLogHandlers({
  db,
  publicUrl,
}: RequestLogOptions): Handlers<typeof requestLogContract> {
  return {
    async listRequests({ caller: { accountId }, query }) {
      const filter = readLogFilter(query)
      if ('fault' in filter) return refuse('invalid_parameter', { message: filter.fault })
      const limit = Number(query.limit)
      const before = query.cursor === undefined ? null : Number(query.cursor)
      // One more than requested shows whether another page follows.
      const rows = await findEntries(db, { ...filter, accountId, before, limit: limit + 1 })
      const entries = rows.slice(0, limit)
      const last = rows.length > limit ? entries.at(-1) : undefined
      const body: Static<typeof requestLog> = {
        schemaVersion: schemaVersion('request_log'),
        requests: entries.map(wireEntry),
      }
      if (last === undefined) return { status: 200, body }
      const next = new URL('/api/account/requests', publicUrl)
      for (const [name, value] of Object.entries({ ...query, cursor: String(last.seq) }))
        if (value !== undefined) next.searchParams.set(name, value)
      return { status: 200, body, headers: { Link: `<${next.href}>; rel="next"` } }
    },
  }
}

function wireEntry(entry: LogEntry): Static<typeof requestLog>['requests'][number] {
  const { requestId, at, keyId, operation, status, error, credits, durationUs, network } = entry
  return {
    requestId,
    at: at.toISOString(),
    apiKeyId: keyId,
    operation,
    status,
    error,
    creditsCharged: credits,
    durationMs: durationUs / 1_000,
    network,
  }
}
