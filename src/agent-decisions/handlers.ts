/** The handlers of agent decision reports. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Clock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Answer, Handlers } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { cursorOf, uuidOfCursor } from '../platform/http/page.ts'
import { parseBody } from '../platform/json/shape-fault.ts'
import { agentDecisionContract } from './contract.ts'
import { openReporting, type ReportOutcome } from './report.ts'
import { readReportRequest } from './report-request.ts'
import {
  type AgentDecisionReport,
  type agentDecisionReportCreated,
  type agentDecisionReportList,
  type unlockReview,
  unlockReviewRequest,
} from './schema.ts'
import { findReportsOf, type ReportingState, type ReportRow } from './store.ts'
import { requestUnlockReview } from './unlock.ts'

export interface AgentDecisionsOptions {
  db: Db
  clock: Clock
  /** Absolute URLs begin with it (decision D3). */
  publicUrl: string
  /** State of an account that the operator has neither locked nor unlocked (decision D43). */
  defaultState: ReportingState
}

const reviewShape = Compile(unlockReviewRequest)

export function agentDecisionHandlers(
  options: AgentDecisionsOptions,
): Handlers<typeof agentDecisionContract> {
  const { db, clock, publicUrl, defaultState } = options
  const report = openReporting(db, defaultState)
  return {
    async reportAgentDecision({ caller, idempotencyKey, body }) {
      const read = readReportRequest(body)
      if ('fault' in read) return refuse('invalid_field', { message: read.fault })
      const { accountId: userId, keyId: apiKeyId } = caller
      const { content } = read
      return reportAnswer(await report({ userId, apiKeyId, idempotencyKey, content, now: clock() }))
    },
    async listAgentDecisions({ caller, query }) {
      const limit = Number(query.limit)
      const before = query.cursor === undefined ? null : uuidOfCursor(query.cursor)
      // One row more than requested shows whether there is another page.
      const rows = await findReportsOf(db, caller.accountId, { before, limit: limit + 1 })
      const reports = rows.slice(0, limit)
      const last = rows.length > limit ? reports.at(-1) : undefined
      const body: Static<typeof agentDecisionReportList> = {
        schemaVersion: schemaVersion('agent_decision_reports'),
        reports: reports.map(wireReport),
      }
      const next = `${publicUrl}${agentDecisionContract.listAgentDecisions.path}?limit=${limit}&cursor=`
      const headers = last && { Link: `<${next}${cursorOf(last.id)}>; rel="next"` }
      return { status: 200, body, ...(headers && { headers }) }
    },
    async requestUnlockReview({ caller, body }) {
      const read = parseBody(reviewShape, body)
      if ('fault' in read) return refuse('invalid_field', { message: read.fault })
      const { note = null } = read.body
      const context = { db, clock, actor: `user ${caller.userId}` }
      const userId = caller.accountId
      const requested = await requestUnlockReview(context, { userId, defaultState, note })
      if (requested.outcome === 'unlocked_already') return refuse('agent_reporting_unlocked')
      const review: Static<typeof unlockReview> = {
        schemaVersion: schemaVersion('agent_unlock_review'),
        status: 'pending',
        requestedAt: wireTime(requested.review.requestedAt),
      }
      return { status: requested.outcome === 'requested' ? 202 : 200, body: review }
    },
  }
}

function reportAnswer(reported: ReportOutcome): Answer {
  if (reported.outcome === 'locked') return refuse('agent_reporting_locked')
  if (reported.outcome === 'other_content') return refuse('idempotency_key_reused')
  if (reported.outcome === 'spent') return refuse('idempotency_key_spent')
  const replayed = reported.outcome === 'replayed'
  const body: Static<typeof agentDecisionReportCreated> = {
    schemaVersion: schemaVersion('agent_decision_report_create'),
    report: wireReport(reported.report),
    replayed,
  }
  return { status: replayed ? 200 : 201, body }
}

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
