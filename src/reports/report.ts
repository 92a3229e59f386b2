/**
 * Stores reports, one for each Idempotency-Key (decisions D40, D43). Writes agent_decision_keys and
 * agent_decision_reports, with one statement for many reports. After a crash, a repeated request
 * finds its report or makes it.
 */
import { batched } from '../platform/batching.ts'
import type { Db } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import { type ReportContent, reportFingerprint } from './report-request.ts'
import {
  findKeyStates,
  insertReports,
  type KeyState,
  type NewReport,
  type ReportingState,
  type ReportRow,
} from './store.ts'

export interface ReportInput {
  userId: string
  apiKeyId: string | null
  idempotencyKey: string
  content: ReportContent
  now: Date
}

export type Reported =
  | { report: ReportRow; isReplay: boolean }
  /** `idempotency_key_spent`: the report of this Idempotency-Key was deleted. */
  | Refusal<'agent_reporting_locked' | 'idempotency_key_reused' | 'idempotency_key_spent'>

/** `defaultState` is the state of an account that the operator has neither locked nor unlocked. */
export function openReporting(
  db: Db,
  defaultState: ReportingState,
): (input: ReportInput) => Promise<Reported> {
  const report = batched<NewReport, Reported>({
    name: 'agent decision reports',
    run: (reports) => storeReports(db, reports, defaultState),
  })
  return ({ userId, apiKeyId, idempotencyKey, content, now }) =>
    report({
      report: { id: uuidV7(now), userId, apiKeyId, ...content, createdAt: now },
      idempotencyKey,
      fingerprint: reportFingerprint(content),
    })
}

async function storeReports(
  db: Db,
  reports: readonly NewReport[],
  defaultState: ReportingState,
): Promise<Reported[]> {
  const added = await insertReports(db, reports, defaultState)
  const others = reports.filter(({ report }) => !added.has(report.id))
  const keys = others.map(({ report: { userId }, idempotencyKey }) => ({ userId, idempotencyKey }))
  // A second statement sees the rows of duplicates that committed while the first one waited.
  const states = keys.length === 0 ? [] : await findKeyStates(db, keys, defaultState)
  const repeated = new Map(others.map((one, i) => [one.report.id, repeatedAs(one, states[i])]))
  return reports.map(({ report }) => repeated.get(report.id) ?? { report, isReplay: false })
}

/** For the sentence of a refusal: what the key made before. */
const made = { cause: { made: 'an agent decision report' } } as const

function repeatedAs({ fingerprint }: NewReport, key: KeyState | undefined): Reported {
  // Neither used nor inserted: the account was locked at that time, even if it is unlocked now.
  if (key === undefined || key.state === 'locked' || !key.isUsed)
    return refuse('agent_reporting_locked')
  if (key.report === null || key.fingerprint === null) return refuse('idempotency_key_spent', made)
  return key.fingerprint.equals(fingerprint)
    ? { report: key.report, isReplay: true }
    : refuse('idempotency_key_reused', made)
}
