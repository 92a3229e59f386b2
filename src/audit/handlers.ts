/** The handler of the audit log of an account. */
import type { Static } from 'typebox'
import type { Db } from '../platform/db/db.ts'
import type { Handlers } from '../platform/http/endpoint.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { readEntry } from './account-entry.ts'
import { auditContract } from './contract.ts'
import type { accountAudit } from './schema.ts'
import { findAccountEntries } from './store.ts'

export interface AuditOptions {
  db: Db
  publicUrl: string
}

export function auditHandlers({ db, publicUrl }: AuditOptions): Handlers<typeof auditContract> {
  return {
    async listAccountAudit({ caller: { accountId }, query }) {
      const limit = Number(query.limit)
      const before = query.cursor === undefined ? null : Number(query.cursor)
      // One more than requested shows whether another page follows.
      const rows = await findAccountEntries(db, { accountId, before, limit: limit + 1 })
      const entries = rows.slice(0, limit)
      const last = rows.length > limit ? entries.at(-1) : undefined
      const body: Static<typeof accountAudit> = {
        schemaVersion: schemaVersion('account_audit'),
        entries: entries.map((row) => {
          const entry = readEntry(row, accountId)
          return { ...entry, at: entry.at.toISOString() }
        }),
      }
      if (last === undefined) return { status: 200, body }
      const next = new URL(auditContract.listAccountAudit.path, publicUrl)
      next.searchParams.set('limit', String(limit))
      next.searchParams.set('cursor', String(last.seq))
      return { status: 200, body, headers: { Link: `<${next.href}>; rel="next"` } }
    },
  }
}
