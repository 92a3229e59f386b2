/** Examples of the contract, and usage and ledger in the closed shape of the wire. */
import type { Static } from 'typebox'
import { wireTime } from '../platform/clock.ts'
import { csvLine } from '../platform/csv.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import type { credits, UsageGroup, usage } from './schema.ts'
import type { LedgerEntry, UsageOf } from './usage-store.ts'

export interface Period {
  /** Days such as 2026-05-14, both included. */
  from: string
  to: string
}

export function wireUsage(
  { from, to }: Period,
  by: UsageGroup,
  rows: readonly UsageOf[],
): Static<typeof usage> {
  return {
    schemaVersion: schemaVersion('usage'),
    from,
    to,
    by,
    rows: rows.map(({ group, calls, refunded, credits }) => ({ group, calls, refunded, credits })),
  }
}

export function wireCredits(
  account: { balance: number; suspendedAt: Date | null } | undefined,
  entries: readonly LedgerEntry[],
): Static<typeof credits> {
  return {
    schemaVersion: schemaVersion('credits'),
    balance: account?.balance ?? 0,
    suspended: account?.suspendedAt != null,
    entries: entries.map(({ at, kind, delta, meter, operation, keyId, requestId, reason }) => ({
      at: wireTime(at),
      kind,
      credits: delta,
      meter,
      operation,
      apiKeyId: keyId,
      requestId,
      reason,
    })),
  }
}

const csvColumns = [
  'at',
  'kind',
  'credits',
  'meter',
  'operation',
  'apiKeyId',
  'requestId',
  'reason',
] as const

/** Returns entries as CSV with the names of the JSON fields in the first line. */
export function ledgerCsv(entries: readonly LedgerEntry[]): string {
  const rows = wireCredits(undefined, entries).entries.map((entry) =>
    csvColumns.map((column) => String(entry[column] ?? '')),
  )
  return [csvColumns, ...rows].map((cells) => `${csvLine(cells)}\r\n`).join('')
}

export const exampleUsage = wireUsage({ from: '2026-05-13', to: '2026-05-14' }, 'day', [
  { group: '2026-05-13', calls: 412, refunded: 0, credits: 412 },
  { group: '2026-05-14', calls: 380, refunded: 1, credits: 379 },
])

const exampleEntries: LedgerEntry[] = [
  {
    seq: 2,
    at: new Date('2026-05-14T09:00:00Z'),
    kind: 'charge',
    delta: -1,
    meter: 'score_lookup',
    operation: 'getScore',
    keyId: '019f8a52-4f00-7000-8000-000000000011',
    requestId: '019f8a524f007000800000000000abcd',
    reason: null,
  },
]

export const exampleCredits = wireCredits({ balance: 9_208, suspendedAt: null }, exampleEntries)
export const exampleLedgerCsv = ledgerCsv(exampleEntries)
