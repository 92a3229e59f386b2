/** A report as the interface shows it. */
import { schemaVersion } from '../edge/http/identifiers.ts'
import { wireTime } from '../platform/clock.ts'
import type { AgentDecisionReport } from './schema.ts'
import type { ReportRow } from './store.ts'

/** Returns a report in the closed shape of the wire. */
export function wireReport(row: ReportRow): AgentDecisionReport {
  return {
    schemaVersion: schemaVersion('agent_decision_report'),
    id: row.id,
    userId: row.userId,
    apiKeyId: row.apiKeyId,
    subject: row.subject,
    decision: row.decision,
    outcome: row.outcome,
    agentName: row.agentName,
    agentVersion: row.agentVersion,
    jobRef: row.jobRef,
    reasonCodes: row.reasonCodes,
    notes: row.notes,
    metadata: row.metadata,
    createdAt: wireTime(row.createdAt),
  }
}
