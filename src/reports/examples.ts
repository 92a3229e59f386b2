/** Pure: examples for the contract. */
import { schemaVersion } from '../edge/http/identifiers.ts'
import { usualOutcome } from './schema.ts'

export const exampleRequest = {
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

export const exampleCreated = {
  schemaVersion: schemaVersion('agent_decision_report_create'),
  report,
  replayed: false,
}

export const exampleList = {
  schemaVersion: schemaVersion('agent_decision_reports'),
  reports: [report],
}

export const exampleReview = {
  schemaVersion: schemaVersion('agent_unlock_review'),
  status: 'pending',
  requestedAt: '2026-05-14T09:00:00Z',
}
