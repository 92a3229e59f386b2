/** Pure: checks and normalises a request to report a decision (decision D40). */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { sha256 } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { parseBody } from '../platform/json/shape-fault.ts'
import { createRequest, type decisions, type outcomes, usualOutcome } from './schema.ts'

export type Subject =
  /** `username` has no @. */
  | { kind: 'candidate'; username: string }
  /** Lowercase. */
  | { kind: 'score'; scoreId: string }

/** The content of a report, with every default filled in. */
export interface ReportContent {
  subject: Subject
  decision: (typeof decisions)[number]
  outcome: (typeof outcomes)[number]
  agentName: string | null
  agentVersion: string | null
  jobRef: string | null
  reasonCodes: string[]
  notes: string | null
  metadata: Record<string, unknown>
}

const shape = Compile(createRequest)

/** Returns the content, or the fault of the body in words for the caller. */
export function readReportRequest(body: unknown): { content: ReportContent } | { fault: string } {
  const read = parseBody(shape, body)
  if ('fault' in read) return read
  const request = read.body
  return {
    content: {
      subject: normalised(request.subject),
      decision: request.decision,
      outcome: request.outcome ?? usualOutcome,
      agentName: request.agentName ?? null,
      agentVersion: request.agentVersion ?? null,
      jobRef: request.jobRef ?? null,
      reasonCodes: request.reasonCodes ?? [],
      notes: request.notes ?? null,
      metadata: { ...request.metadata },
    },
  }
}

/**
 * Returns 32 bytes that are equal for equivalent requests. Order, white space, number forms and
 * explicit defaults do not matter.
 */
export function reportFingerprint(content: ReportContent): Buffer {
  return sha256(canonicalJson({ ...content, reasonCodes: content.reasonCodes.toSorted() }))
}

function normalised(subject: Static<typeof createRequest>['subject']): Subject {
  return subject.kind === 'candidate'
    ? { kind: 'candidate', username: subject.username.replace(/^@/, '') }
    : { kind: 'score', scoreId: subject.scoreId.toLowerCase() }
}
