/** How disputes are named and shown on the command line. */
import type { Dispute } from '../disputes/dispute.ts'
import { wireTime } from '../platform/clock.ts'
import type { Queryable } from '../platform/db/db.ts'
import { findWorkerFacts } from '../workers/store.ts'
import { usageError } from './fail.ts'
import type { Outcome } from './output.ts'
import { uuidForm } from './uuid-form.ts'

export type ToldDispute = ReturnType<typeof told>

/** In the order given. */
export async function toldDisputes(
  db: Queryable,
  disputes: readonly Dispute[],
  now: Date,
): Promise<ToldDispute[]> {
  const people = await findWorkerFacts(
    db,
    disputes.map(({ workerId }) => workerId),
  )
  const names = new Map(people.map(({ workerId, username }) => [workerId, username]))
  return disputes.map((dispute) => told(dispute, names.get(dispute.workerId) ?? '-', now))
}

function told({ items, ...dispute }: Dispute, username: string, now: Date) {
  const { id, kind, state, resolution, restricted, openedAt, dueAt, endedAt } = dispute
  const isOverdue = endedAt === null && dueAt <= now
  const times = {
    openedAt: wireTime(openedAt),
    dueAt: wireTime(dueAt),
    endedAt: endedAt === null ? null : wireTime(endedAt),
  }
  const report = { ...dispute, ...times, username, overdue: isOverdue, evidence: items }
  const about = kind === 'evidence' ? `${kind} (${items.length})` : kind
  const notes = [
    resolution ?? state,
    ...(restricted && endedAt === null ? ['score hidden'] : []),
    ...(isOverdue ? ['overdue'] : []),
  ]
  return { report, line: `${id}  due ${times.dueAt}  ${username}: ${about}, ${notes.join(', ')}` }
}

/** Throws `Failure` for what is no id. */
export function disputeGiven(text: string): string {
  if (!uuidForm.test(text)) throw usageError(`${JSON.stringify(text)} is not a dispute’s id.`)
  return text.toLowerCase()
}

export function refused(message: string, report: Record<string, unknown> = {}): Outcome {
  return { exitCode: 1, report: { ok: false, ...report, message }, lines: [message] }
}

export function unknownDispute(id: string): Outcome {
  return refused(`There is no dispute ${id}.`, { disputeId: id })
}
