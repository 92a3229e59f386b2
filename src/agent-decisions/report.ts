/**
 * Takes in reports, each Idempotency-Key once (decisions D40, D43). Writes agent_decision_keys and agent_decision_reports, many reports
 * with one statement: it either stands whole or not at all, so that after a crash a repeat finds its report or makes it.
 */
import { batched } from '../platform/batching.ts'
import type { Db } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { type ReportContent, reportFingerprint } from './report-request.ts'
import {
  findKeyStates,
  insertReports,
  type KeyState,
  type NewReport,
  type ReportingState,
  type ReportRow,
} from './store.ts'

export interface ReportWish {
  userId: string
  apiKeyId: string | null
  idempotencyKey: string
  content: ReportContent
  now: Date
}

export type Reported =
  | { outcome: 'created' | 'replayed'; report: ReportRow }
  | { outcome: 'other_content' }
  /** The report that was made with this key is gone. */
  | { outcome: 'spent' }
  | { outcome: 'locked' }

/** `stateUnlessSet`: of accounts about which the operator has said nothing. */
export function openReporting(
  db: Db,
  stateUnlessSet: ReportingState,
): (wish: ReportWish) => Promise<Reported> {
  const report = batched<NewReport, Reported>({
    name: 'agent decision reports',
    run: (reports) => takeIn(db, reports, stateUnlessSet),
  })
  return ({ userId, apiKeyId, idempotencyKey, content, now }) =>
    report({
      report: { id: uuidV7(now), userId, apiKeyId, ...content, createdAt: now },
      idempotencyKey,
      fingerprint: reportFingerprint(content),
    })
}

async function takeIn(
  db: Db,
  reports: readonly NewReport[],
  stateUnlessSet: ReportingState,
): Promise<Reported[]> {
  const added = await insertReports(db, reports, stateUnlessSet)
  const others = reports.filter(({ report }) => !added.has(report.id))
  const keys = others.map(({ report: { userId }, idempotencyKey }) => ({ userId, idempotencyKey }))
  // A statement of its own: it sees what a twin has committed while the first one waited for it.
  const states = keys.length === 0 ? [] : await findKeyStates(db, keys, stateUnlessSet)
  const answers = new Map(others.map((one, i) => [one.report.id, answerOf(one, states[i])]))
  return reports.map(({ report }) => answers.get(report.id) ?? { outcome: 'created', report })
}

function answerOf({ fingerprint }: NewReport, key: KeyState | undefined): Reported {
  // Not used and not added: the account was locked then, whatever it is now.
  if (key === undefined || key.state === 'locked' || !key.isUsed) return { outcome: 'locked' }
  if (key.report === null || key.fingerprint === null) return { outcome: 'spent' }
  return key.fingerprint.equals(fingerprint)
    ? { outcome: 'replayed', report: key.report }
    : { outcome: 'other_content' }
}
