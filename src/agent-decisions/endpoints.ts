/** The route of agent decision reports (spec §4.5). */
import type { Static } from 'typebox'
import { type Clock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Caller } from '../platform/http/callers.ts'
import type { RateLimits } from '../platform/http/contract.ts'
import { type Answer, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { openReporting, type Reported } from './report.ts'
import { readReportRequest } from './report-request.ts'
import { type AgentDecisionReport, agentDecisionReportCreated, createRequest } from './schema.ts'
import type { ReportingState, ReportRow } from './store.ts'

export interface AgentDecisionsOptions {
  db: Db
  clock: Clock
  /** State of an account that the operator has neither locked nor unlocked (decision D43). */
  stateUnlessSet: ReportingState
  /** Of each key. */
  limits: RateLimits
}

const bodyBytesMax = 32_768

export function agentDecisionEndpoints(options: AgentDecisionsOptions): Endpoint[] {
  const { db, clock, stateUnlessSet, limits } = options
  const report = openReporting(db, stateUnlessSet)
  return [
    endpoint({
      operationId: 'reportAgentDecision',
      method: 'POST',
      path: '/api/v1/agent-decisions',
      area: 'agent decisions',
      summary: 'Report what an agent decided after using candidate or score data',
      description:
        'A report is private to the account and the operators. A repeat with the same Idempotency-Key and the same content gives the same report, with 200; keys stay used for ever.',
      policy: { kind: 'keyed', scope: 'agent-decisions:write', limits },
      idempotencyKey: 'required',
      priority: 'write',
      body: {
        mediaTypes: ['application/json'],
        schema: createRequest,
        bytesMax: bodyBytesMax,
        ambiguousReachesHandler: false,
        examples: { report: exampleRequest },
      },
      responses: {
        200: {
          description: 'The report that was made with this key before.',
          schema: agentDecisionReportCreated,
          example: { ...exampleCreated, replayed: true },
        },
        201: {
          description: 'The report.',
          schema: agentDecisionReportCreated,
          example: exampleCreated,
        },
        400: {
          description:
            'The subject, decision, outcome, metadata, another field, the JSON or the Idempotency-Key is not valid.',
          errors: [
            'unsupported_version',
            'invalid_parameter',
            'invalid_idempotency_key',
            'invalid_json',
            'invalid_field',
          ],
        },
        401: { description: 'There is no API key, or it is not valid.' },
        403: {
          description:
            'The API key lacks the scope, or the operator has locked reporting for the account.',
          errors: ['insufficient_scope', 'test_key', 'agent_reporting_locked'],
        },
        409: {
          description: 'The key was used for other content, or its report is gone.',
          errors: ['idempotency_key_reused', 'idempotency_key_spent'],
        },
        413: { description: `The body is larger than ${bodyBytesMax} bytes.` },
        415: { description: 'The content type is not JSON.' },
        429: { description: 'Too many reports; retry after Retry-After seconds.' },
        500: { description: 'The report could not be kept. A retry makes it once.' },
        503: {
          description: 'Keys or the database are not available. A retry makes the report once.',
          errors: ['overloaded', 'unavailable'],
        },
      },
      async answer({ caller, idempotencyKey, body }) {
        const read = readReportRequest(body)
        if ('fault' in read) return refuse('invalid_field', { message: read.fault })
        const { userId, apiKeyId } = reporterOf(caller)
        if (idempotencyKey === null) return refuse('invalid_idempotency_key')
        const { content } = read
        return answerOf(await report({ userId, apiKeyId, idempotencyKey, content, now: clock() }))
      },
    }),
  ]
}

function answerOf(reported: Reported): Answer {
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

/** A report as the wire wants it: exactly the closed shape. */
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

/** The edge lets nobody else in. */
function reporterOf(caller: Caller): { userId: string; apiKeyId: string } {
  if (caller.kind !== 'key') throw new Error('a keyed route was called without a key')
  return { userId: caller.accountId, apiKeyId: caller.keyId }
}

const exampleRequest = {
  subject: { kind: 'candidate', username: 'ada-lovelace' },
  decision: 'shortlisted',
  agentName: 'Scout',
  agentVersion: '2.1',
  jobRef: 'backend-2026-14',
  reasonCodes: ['skills.match', 'score:strong'],
  metadata: { run: 'r-1842' },
} as const

export const exampleReport: ReportRow = {
  id: '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f',
  userId: '5a1c2d3e-0f1a-4b2c-8d3e-4f5a6b7c8d9e',
  apiKeyId: '7c8d9e0f-1a2b-4c3d-8e4f-5a6b7c8d9e0f',
  ...exampleRequest,
  reasonCodes: [...exampleRequest.reasonCodes],
  outcome: 'pending',
  notes: null,
  createdAt: new Date('2026-05-14T09:00:00Z'),
}

const exampleCreated = {
  schemaVersion: schemaVersion('agent_decision_report_create'),
  report: wireReport(exampleReport),
  replayed: false,
}
