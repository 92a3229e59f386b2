/** The example of the contract, and the ledger as CSV. */
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

export const exampleLedgerCsv = ledgerCsv([
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
])
