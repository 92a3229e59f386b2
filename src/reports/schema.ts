/** Wire shapes of agent decision reports. */
import { type Static, type TSchema, Type } from 'typebox'
import { dateTime, schemaVersionField } from '../edge/http/fields.ts'
import { schemaVersion } from '../edge/http/identifiers.ts'
import { cursorParameter, limitParameter } from '../edge/http/page.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import { type Stored, wireObject } from '../platform/json/wire-object.ts'

export const decisions = [
  'shortlisted',
  'rejected',
  'contacted',
  'interview_requested',
  'offer_extended',
  'hired',
  'no_action',
] as const

export const outcomes = ['pending', 'positive', 'negative', 'neutral', 'unknown'] as const
/** Of a report that names none. */
export const usualOutcome: (typeof outcomes)[number] = 'pending'

const reasonCodesMax = 10

/** A `description` that begins with "must" is also part of the message to the caller. */
const text = (maxLength: number) => ({
  maxLength,
  description: `must be text of at most ${maxLength} characters`,
})
const agentText = text(80)
const jobRefText = text(120)
export const notesText = text(1_000)

const subject = Type.Union(
  [
    closedObject(
      {
        kind: Type.Literal('candidate', { description: 'The decision is about a candidate.' }),
        username: Type.String({
          pattern: '^@?[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$',
          description: 'The username of the candidate, with or without a leading @.',
        }),
      },
      { title: 'AgentDecisionCandidate', description: 'A candidate.' },
    ),
    closedObject(
      {
        kind: Type.Literal('score', { description: 'The decision is about a score.' }),
        scoreId: Type.String({
          pattern: '^[0-9a-fA-F]{64}$',
          description: 'The id of the score, in either case.',
        }),
      },
      { title: 'AgentDecisionScore', description: 'A score.' },
    ),
  ],
  {
    description:
      'must be {"kind":"candidate","username":…} with a username of 3 to 30 characters, or {"kind":"score","scoreId":…} with 64 hexadecimal characters',
  },
)
const decision = Type.Enum([...decisions], {
  type: 'string',
  description: `must be one of ${decisions.join(', ')}`,
})
const outcome = Type.Enum([...outcomes], {
  type: 'string',
  description: `must be one of ${outcomes.join(', ')}`,
})
const reasonCodes = Type.Array(Type.String({ pattern: '^[a-z0-9_.:-]{1,64}$' }), {
  maxItems: reasonCodesMax,
  uniqueItems: true,
  description: `must be at most ${reasonCodesMax} different codes, each 1 to 64 characters of a-z 0-9 _ . : and -`,
})
const metadata = Type.Object(
  {},
  { additionalProperties: true, description: 'must be an object; what is in it is yours' },
)

export const createRequest = closedObject({
  subject,
  decision,
  outcome: Type.Optional(outcome),
  agentName: Type.Optional(Type.String(agentText)),
  agentVersion: Type.Optional(Type.String(agentText)),
  jobRef: Type.Optional(Type.String(jobRefText)),
  reasonCodes: Type.Optional(reasonCodes),
  notes: Type.Optional(Type.String(notesText)),
  metadata: Type.Optional(metadata),
})

const uuid = (description: string) =>
  Type.String({
    format: 'uuid',
    pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    description,
  })
const orNull = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const agentDecisionReport = closedObject(
  {
    schemaVersion: schemaVersionField('agent_decision_report'),
    id: uuid('The id of the report.'),
    userId: uuid('The account that reported.'),
    apiKeyId: orNull(
      uuid('The key.'),
      'Id of the API key that made the report. Null if it is not known.',
    ),
    subject,
    decision,
    outcome,
    agentName: orNull(Type.String(agentText), 'The name of the agent. Null if it was not given.'),
    agentVersion: orNull(
      Type.String(agentText),
      'The version of the agent. Null if it was not given.',
    ),
    jobRef: orNull(Type.String(jobRefText), 'Your name of the job. Null if it was not given.'),
    reasonCodes,
    notes: orNull(Type.String(notesText), 'Your notes. Null if they were not given.'),
    metadata,
    createdAt: Type.String({
      format: 'date-time',
      pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$',
      description: 'When the service received the report.',
    }),
  },
  {
    title: 'AgentDecisionReport',
    description: 'A report of a decision. Only the account that made it can read it.',
  },
)
type AgentDecisionReport = Static<typeof agentDecisionReport>

export function wireReport(
  row: Stored<Omit<AgentDecisionReport, 'schemaVersion'>>,
): AgentDecisionReport {
  const named = { ...row, schemaVersion: schemaVersion('agent_decision_report') } as const
  return wireObject(agentDecisionReport, named)
}

export const agentDecisionReportCreated = closedObject(
  {
    schemaVersion: schemaVersionField('agent_decision_report_create'),
    report: agentDecisionReport,
    replayed: Type.Boolean({
      description: 'Whether the key had been used for this report before.',
    }),
  },
  { title: 'AgentDecisionReportCreated' },
)

export const reportsQuery = Type.Object({ limit: limitParameter, cursor: cursorParameter })

export const agentDecisionReportList = closedObject(
  {
    schemaVersion: schemaVersionField('agent_decision_reports'),
    reports: Type.Array(agentDecisionReport, {
      maxItems: 100,
      description: 'The newest report comes first.',
    }),
  },
  { title: 'AgentDecisionReportList' },
)

export const unlockReviewRequest = closedObject(
  { note: Type.Optional(Type.String(notesText)) },
  { title: 'UnlockReviewRequest' },
)

export const unlockReview = closedObject(
  {
    schemaVersion: schemaVersionField('agent_unlock_review'),
    status: Type.Literal('pending', { description: 'The operator has not decided yet.' }),
    requestedAt: dateTime('When the review was requested.'),
  },
  { title: 'UnlockReview' },
)
