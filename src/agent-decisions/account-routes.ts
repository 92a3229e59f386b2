/** The routes by which a signed-in user lists the reports of an account and requests a review of its lock (spec §4.7). */
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Clock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { sessionOf } from '../platform/http/callers.ts'
import { sessionBodyResponses, sessionResponses } from '../platform/http/contract.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { cursorOf, cursorParameter, limitParameter, uuidOfCursor } from '../platform/http/page.ts'
import { firstFault } from '../platform/json/shape-fault.ts'
import { exampleReport, wireReport } from './endpoints.ts'
import { agentDecisionReportList, unlockReview, unlockReviewRequest } from './schema.ts'
import { findReportsOf, type ReportingState, type ReportRow } from './store.ts'
import { requestUnlockReview } from './unlock.ts'

export interface AccountDecisionsOptions {
  db: Db
  clock: Clock
  /** Absolute URLs begin with it (decision D3). */
  publicUrl: string
  /** State of an account that the operator has neither locked nor unlocked (decision D43). */
  stateUnlessSet: ReportingState
}

const path = '/api/account/agent-decisions'
const bodyBytesMax = 32_768
const shape = Compile(unlockReviewRequest)

export function accountDecisionEndpoints(options: AccountDecisionsOptions): Endpoint[] {
  const { db, clock, publicUrl, stateUnlessSet } = options
  const common = {
    area: 'agent decisions',
    policy: { kind: 'session' },
    priority: 'search',
  } as const
  return [
    endpoint({
      ...common,
      operationId: 'listAgentDecisions',
      method: 'GET',
      path,
      summary: 'List the agent decision reports of the account',
      queryParameters: Type.Object({ limit: limitParameter, cursor: cursorParameter }),
      responses: {
        200: {
          description: 'The reports, newest first.',
          schema: agentDecisionReportList,
          example: wireList([exampleReport]),
          hasNextLink: true,
        },
        ...sessionResponses,
      },
      async answer({ caller, query }) {
        const { accountId } = sessionOf(caller)
        const limit = Number(query.limit)
        const before = query.cursor === undefined ? null : uuidOfCursor(query.cursor)
        // One more than asked for tells whether there is another page.
        const rows = await findReportsOf(db, accountId, { before, limit: limit + 1 })
        const reports = rows.slice(0, limit)
        const last = rows.length > limit ? reports.at(-1) : undefined
        return {
          status: 200,
          body: wireList(reports),
          ...(last && { headers: { Link: nextLink(publicUrl, { limit, lastId: last.id }) } }),
        }
      },
    }),
    endpoint({
      ...common,
      operationId: 'requestUnlockReview',
      method: 'POST',
      path: `${path}/unlock-review`,
      summary: 'Request a review of the lock on agent reporting',
      description:
        'The operator approves or declines the request. An account has one open request at a time; the note of a later one is not kept.',
      body: {
        mediaTypes: ['application/json'],
        schema: unlockReviewRequest,
        bytesMax: bodyBytesMax,
        ambiguousReachesHandler: false,
        examples: { empty: {}, note: { note: 'Our agent no longer reports twice.' } },
      },
      responses: {
        200: {
          description: 'The request that is open already.',
          schema: unlockReview,
          example: exampleReview,
        },
        202: { description: 'The request.', schema: unlockReview, example: exampleReview },
        ...sessionBodyResponses(bodyBytesMax),
        409: {
          description: 'Agent reporting is not locked for the account.',
          errors: ['agent_reporting_unlocked'],
        },
      },
      async answer({ caller, body }) {
        const read = readReviewRequest(body)
        if ('fault' in read) return refuse('invalid_field', { message: read.fault })
        const { accountId: userId } = sessionOf(caller)
        const asking = { userId, stateUnlessSet, note: read.note, now: clock() }
        const asked = await requestUnlockReview(db, asking)
        if (asked.outcome === 'unlocked_already') return refuse('agent_reporting_unlocked')
        const status = asked.outcome === 'requested' ? 202 : 200
        return { status, body: wireReview(asked.review.requestedAt) }
      },
    }),
  ]
}

function nextLink(publicUrl: string, { limit, lastId }: { limit: number; lastId: string }): string {
  return `<${new URL(path, publicUrl).href}?limit=${limit}&cursor=${cursorOf(lastId)}>; rel="next"`
}

/** Returns the note, or what is wrong with the body in words for the caller. */
function readReviewRequest(body: unknown): { note: string | null } | { fault: string } {
  if (shape.Check(body)) return { note: body.note ?? null }
  const { field, reason } = firstFault(shape, body)
  return { fault: `${field ?? 'The body'} ${reason}.` }
}

function wireList(rows: readonly ReportRow[]): Static<typeof agentDecisionReportList> {
  return { schemaVersion: schemaVersion('agent_decision_reports'), reports: rows.map(wireReport) }
}

function wireReview(requestedAt: Date): Static<typeof unlockReview> {
  return {
    schemaVersion: schemaVersion('agent_unlock_review'),
    status: 'pending',
    requestedAt: wireTime(requestedAt),
  }
}

const exampleReview = wireReview(new Date('2026-05-14T09:00:00Z'))
