/** Pure: a request to report a decision: checked to the letter, brought to its one form, and told apart by a fingerprint (decision D40). */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { sha256 } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { parseBody } from '../platform/json/shape-fault.ts'
import { createRequest, type decisions, type outcomes } from './schema.ts'

export type Subject =
  /** Without @. */
  | { kind: 'candidate'; username: string }
  /** Lowercase. */
  | { kind: 'score'; scoreId: string }

/** What a report says, every default filled in. */
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

/** The content, or what is wrong with the body in words for whoever sent it. The body has passed the strict JSON gate. */
export function readReportRequest(body: unknown): { content: ReportContent } | { fault: string } {
  const read = parseBody(shape, body)
  if ('fault' in read) return read
  const request = read.body
  return {
    content: {
      subject: normalised(request.subject),
      decision: request.decision,
      outcome: request.outcome ?? 'pending',
      agentName: request.agentName ?? null,
      agentVersion: request.agentVersion ?? null,
      jobRef: request.jobRef ?? null,
      reasonCodes: request.reasonCodes ?? [],
      notes: request.notes ?? null,
      metadata: { ...request.metadata },
    },
  }
}

/** Equal for requests that say the same: order, white space, number forms and written-out defaults do not matter. 32 bytes. */
export function reportFingerprint(content: ReportContent): Buffer {
  return sha256(canonicalJson({ ...content, reasonCodes: content.reasonCodes.toSorted() }))
}

function normalised(subject: Static<typeof createRequest>['subject']): Subject {
  return subject.kind === 'candidate'
    ? { kind: 'candidate', username: subject.username.replace(/^@/, '') }
    : { kind: 'score', scoreId: subject.scoreId.toLowerCase() }
}
