/** The ledger as CSV. */
import { wireTime } from '../../platform/clock.ts'
import { csvLine } from '../../platform/csv.ts'
import type { LedgerEntry } from './usage-store.ts'

const columns: Readonly<Record<string, (entry: LedgerEntry) => string | number | null>> = {
  at: ({ at }) => wireTime(at),
  kind: ({ kind }) => kind,
  credits: ({ delta }) => delta,
  meter: ({ meter }) => meter,
  operation: ({ operation }) => operation,
  apiKeyId: ({ keyId }) => keyId,
  requestId: ({ requestId }) => requestId,
  reason: ({ reason }) => reason,
}

/** Returns the entries as CSV with the names of the columns in the first line. */
export function ledgerCsv(entries: readonly LedgerEntry[]): string {
  const rows = entries.map((entry) =>
    Object.values(columns).map((cell) => String(cell(entry) ?? '')),
  )
  return [Object.keys(columns), ...rows].map((cells) => `${csvLine(cells)}\r\n`).join('')
}
