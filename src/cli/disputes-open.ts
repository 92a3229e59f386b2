/** `assay disputes open`: what a person contests, entered by the operator. */

import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { type DisputeKind, disputeKinds } from '../disputes/dispute.ts'
import { type Opening, openDispute } from '../disputes/open-dispute.ts'
import { type EvidenceName, findNamedEvidence } from '../evidence/evidence-names.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import type { Tx } from '../platform/db/db.ts'
import { findWorkerId } from '../workers/store.ts'
import { withDatabase } from './context.ts'
import { refused, toldDisputes } from './disputes-told.ts'
import { unknownWorker, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { actorGiven, usernameGiven } from './person.ts'

export interface OpenFlags {
  kind: string
  /** Ids, or `SOURCE/EXTERNAL-ID`. */
  evidence?: EvidenceName[]
  exclude?: boolean
  /** Undefined: as the setting says. */
  restrict?: boolean
  by: string
}

export function openDisputeCommand(
  config: Config,
  given: string,
  flags: OpenFlags,
): Promise<Outcome> {
  const username = usernameGiven(given)
  const wish = wishOf(config, flags)
  return withDatabase(config, async (db) => {
    const opening = await db.transaction((tx) => openRecorded(tx, username, wish))
    if (opening.outcome === 'unknown_worker') throw unknownWorker(username)
    if (opening.outcome !== 'opened') return refused(refusalOf(username, opening), opening)
    const { id, restricted, dueAt, items } = opening.dispute
    const [told] = await toldDisputes(db, [opening.dispute], wish.now)
    const excluded = items.filter((item) => item.excluded).length
    return done({ ok: true, dispute: told?.report }, [
      `Dispute ${id} is open, due ${wireTime(dueAt)}.`,
      restricted ? `The score of ${username} is hidden until it ends.` : 'The score stays public.',
      ...(excluded > 0
        ? [`Until then the score leaves out ${counted(excluded, 'item')} of evidence.`]
        : []),
    ])
  })
}

interface OpenWish {
  kind: DisputeKind
  names: readonly EvidenceName[]
  exclude: boolean
  restricted: boolean
  actor: string
  now: Date
  dueAt: Date
}

function wishOf(config: Config, flags: OpenFlags): OpenWish {
  const { evidence = [], exclude = false, restrict = config.disputeHidesScore } = flags
  const kind = disputeKinds.find((known) => known === flags.kind)
  if (kind === undefined) throw usageError(`--kind is one of ${disputeKinds.join(', ')}.`)
  const isAboutItems = kind === 'evidence'
  if (isAboutItems !== evidence.length > 0)
    throw usageError(
      isAboutItems ? 'Name the evidence: --evidence.' : '--evidence is for --kind evidence.',
    )
  if (exclude && !isAboutItems) throw usageError('--exclude is for --kind evidence.')
  const now = systemClock()
  return {
    kind,
    names: evidence,
    exclude,
    restricted: restrict,
    actor: actorGiven(flags.by),
    now,
    dueAt: new Date(now.getTime() + config.disputeDueDays * 86_400_000),
  }
}

async function openRecorded(tx: Tx, username: string, wish: OpenWish): Promise<Opening> {
  const { kind, names, exclude, restricted, actor, now, dueAt } = wish
  const workerId = await findWorkerId(tx, username)
  if (workerId === null) return { outcome: 'unknown_worker' }
  const { ids: evidenceIds, unknown } = await findNamedEvidence(tx, names)
  if (unknown.length > 0) return { outcome: 'not_theirs', evidenceIds: unknown }
  const asked = { workerId, kind, evidenceIds, restricted, exclude }
  const opening = await openDispute(tx, asked, { actor, now, dueAt })
  if (opening.outcome !== 'opened') return opening
  const { id, items } = opening.dispute
  const excluded = items.filter((item) => item.excluded).length
  const entry = { subjects: [id], details: { kind, restricted, excluded } }
  await recordAction(tx, { ...entry, action: 'disputes.opened', actor: operator() }, now)
  return opening
}

type Refusal = Exclude<Opening, { outcome: 'opened' | 'unknown_worker' }>

function refusalOf(username: string, refusal: Refusal): string {
  if (refusal.outcome === 'no_score') return `${username} has no score to dispute.`
  if (refusal.outcome === 'already_open')
    return `Dispute ${refusal.disputeId} about the same is open: it ends first.`
  const named = refusal.evidenceIds.join(', ')
  return refusal.outcome === 'revoked'
    ? `Revoked already, for ever: ${named}.`
    : `Not evidence of ${username}: ${named}.`
}
