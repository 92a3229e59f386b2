/** The handlers of agent decision reports. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Answer, Handlers } from '../edge/http/endpoint.ts'
import { schemaVersion } from '../edge/http/identifiers.ts'
import { cursorOf, uuidOfCursor } from '../edge/http/page.ts'
import { memberCaller } from '../operations/callers.ts'
import { pageOf } from '../operations/fields.ts'
import { type Performer, perform } from '../operations/perform.ts'
import { refuse } from '../platform/errors.ts'
import { parseBody } from '../platform/json/shape-fault.ts'
import { agentDecisionContract } from './contract.ts'
import { type ReportServices, reportsRequestReview } from './operations.ts'
import { openReporting, type Reported } from './report.ts'
import { readReportRequest } from './report-request.ts'
import {
  type agentDecisionReportCreated,
  type agentDecisionReportList,
  type unlockReview,
  unlockReviewRequest,
  wireReport,
} from './schema.ts'
import { findReportsOf } from './store.ts'

export interface AgentDecisionsOptions {
  performer: Performer<ReportServices>
  /** Absolute URLs begin with it (decision D3). */
  publicUrl: string
}

const reviewShape = Compile(unlockReviewRequest)

export function agentDecisionHandlers({
  performer,
  publicUrl,
}: AgentDecisionsOptions): Handlers<typeof agentDecisionContract> {
  const { db, clock, services } = performer
  const report = openReporting(db, services.reports.defaultState)
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
      const { rows: reports, next: last } = pageOf(rows, limit, ({ id }) => id)
      const body: Static<typeof agentDecisionReportList> = {
        schemaVersion: schemaVersion('agent_decision_reports'),
        reports: reports.map(wireReport),
      }
      const next = `${publicUrl}${agentDecisionContract.listAgentDecisions.path}?limit=${limit}&cursor=`
      const headers = last === null ? null : { Link: `<${next}${cursorOf(last)}>; rel="next"` }
      return { status: 200, body, ...(headers !== null && { headers }) }
    },
    async requestUnlockReview({ caller, body, requestId }) {
      const read = parseBody(reviewShape, body)
      if ('fault' in read) return refuse('invalid_field', { message: read.fault })
      const member = memberCaller(caller, requestId)
      const input = { account: caller.accountId, ...read.body }
      const requested = await perform(performer, reportsRequestReview, member, input)
      if ('refusal' in requested) return requested
      const { changed, requestedAt } = requested.output
      const review: Static<typeof unlockReview> = {
        schemaVersion: schemaVersion('agent_unlock_review'),
        status: 'pending',
        requestedAt,
      }
      return { status: changed ? 202 : 200, body: review }
    },
  }
}

function reportAnswer(reported: Reported): Answer {
  if ('refusal' in reported) return reported
  const { report, isReplay: replayed } = reported
  const body: Static<typeof agentDecisionReportCreated> = {
    schemaVersion: schemaVersion('agent_decision_report_create'),
    report: wireReport(report),
    replayed,
  }
  return { status: replayed ? 200 : 201, body }
}
