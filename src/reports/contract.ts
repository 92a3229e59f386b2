/**
 * The endpoints of agent decision reports: agents report with an API key; a signed-in user lists
 * the reports of an account and requests a review of its lock.
 */
import {
  type Contract,
  keyedBodyErrors,
  sessionBodyResponses,
  sessionResponses,
  smallJsonBody,
} from '../edge/http/contract.ts'
import { schemaVersion } from '../edge/http/identifiers.ts'
import {
  agentDecisionReportCreated,
  agentDecisionReportList,
  createRequest,
  reportsQuery,
  unlockReview,
  unlockReviewRequest,
  usualOutcome,
} from './schema.ts'

const exampleRequest = {
  subject: { kind: 'candidate', username: 'ada-lovelace' },
  decision: 'shortlisted',
  agentName: 'Scout',
  agentVersion: '2.1',
  jobRef: 'backend-2026-14',
  reasonCodes: ['skills.match', 'score:strong'],
  metadata: { run: 'r-1842' },
}

const report = {
  schemaVersion: schemaVersion('agent_decision_report'),
  id: '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f',
  userId: '5a1c2d3e-0f1a-4b2c-8d3e-4f5a6b7c8d9e',
  apiKeyId: '7c8d9e0f-1a2b-4c3d-8e4f-5a6b7c8d9e0f',
  subject: exampleRequest.subject,
  decision: exampleRequest.decision,
  outcome: usualOutcome,
  agentName: exampleRequest.agentName,
  agentVersion: exampleRequest.agentVersion,
  jobRef: exampleRequest.jobRef,
  reasonCodes: exampleRequest.reasonCodes,
  notes: null,
  metadata: exampleRequest.metadata,
  createdAt: '2026-05-14T09:00:00Z',
}

const exampleCreated = {
  schemaVersion: schemaVersion('agent_decision_report_create'),
  report,
  replayed: false,
}

const exampleList = {
  schemaVersion: schemaVersion('agent_decision_reports'),
  reports: [report],
}

const exampleReview = {
  schemaVersion: schemaVersion('agent_unlock_review'),
  status: 'pending',
  requestedAt: '2026-05-14T09:00:00Z',
}

const accountPath = '/api/account/agent-decisions'
const session = {
  area: 'agent decisions',
  policy: { kind: 'session' },
  priority: 'search',
} as const

export const agentDecisionContract = {
  reportAgentDecision: {
    method: 'POST',
    path: '/api/v1/agent-decisions',
    area: 'agent decisions',
    summary: 'Report the decision of an agent that used candidate or score data',
    description:
      'Only the account and the operators can read a report. A repeat with the same Idempotency-Key and content returns the same report with 200. A key stays used forever.',
    policy: { kind: 'keyed', scope: 'agent-decisions:write', limits: 'agentReportLimits' },
    idempotencyKey: 'required',
    priority: 'write',
    body: { ...smallJsonBody, schema: createRequest, examples: { report: exampleRequest } },
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
          'The subject, decision, outcome, metadata, another field, the JSON, its media type, its size or the Idempotency-Key is not valid.',
        errors: keyedBodyErrors,
      },
      401: { description: 'There is no API key, or it is not valid.' },
      403: {
        description:
          'The API key lacks the scope, or the operator has locked reporting for the account.',
        errors: ['insufficient_scope', 'test_key', 'agent_reporting_locked'],
      },
      409: {
        description: 'The Idempotency-Key was used for other content, or its report was deleted.',
        errors: ['idempotency_key_reused', 'idempotency_key_spent'],
      },
      429: { description: 'Too many reports; retry after Retry-After seconds.' },
      500: { description: 'The report could not be kept. A retry makes it once.' },
      503: {
        description: 'Keys or the database are not available. A retry makes the report once.',
        errors: ['overloaded', 'unavailable'],
      },
    },
  },
  listAgentDecisions: {
    ...session,
    method: 'GET',
    path: accountPath,
    summary: 'List the agent decision reports of the account',
    description: 'The reports of every API key of the account, the newest first.',
    queryParameters: reportsQuery,
    responses: {
      200: {
        description: 'The reports, newest first.',
        schema: agentDecisionReportList,
        example: exampleList,
        hasNextLink: true,
      },
      ...sessionResponses,
    },
  },
  requestUnlockReview: {
    ...session,
    method: 'POST',
    path: `${accountPath}/unlock-review`,
    summary: 'Request a review of the lock on agent reporting',
    description:
      'The operator approves or declines the request. An account has one open request at a time; the note of a later one is not kept.',
    body: {
      ...smallJsonBody,
      schema: unlockReviewRequest,
      examples: { empty: {}, note: { note: 'Our agent no longer reports twice.' } },
    },
    responses: {
      200: {
        description: 'The request that is open already.',
        schema: unlockReview,
        example: exampleReview,
      },
      202: { description: 'The request.', schema: unlockReview, example: exampleReview },
      ...sessionBodyResponses(smallJsonBody.bytesMax),
      409: {
        description: 'Agent reporting is not locked for the account.',
        errors: ['agent_reporting_unlocked'],
      },
    },
  },
} satisfies Contract
