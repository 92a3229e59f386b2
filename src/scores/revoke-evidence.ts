/**
 * Revoking evidence, with all that follows, in one transaction: the evidence, the scores that rested on it, their credentials, and the events
 * in causal order: `evidence.revoked` for each item, then `score.revised`.
 */
import { type Revocation, revokeEvidence } from '../evidence/revoke-evidence.ts'
import type { RevocationReason } from '../evidence/schema.ts'
import { findWorkerEvidence, type OwnedEvidence } from '../evidence/store.ts'
import { wireTime } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { type NewEvent, publishEvents } from '../webhooks/events/outbox.ts'
import { findWorkerFacts } from '../workers/store.ts'
import {
  earlierRestingOn,
  lockOwners,
  type RestedOn,
  type RestingSnapshot,
  revokeCredentialsOf,
  scoresRestingOn,
  workersOf,
} from './owners.ts'
import { rescore, type ScoredWorker } from './score-workers.ts'
import type { Scoring } from './scoring.ts'
import { mayPublish } from './sharing.ts'
import type { Snapshot } from './snapshot.ts'
import type { DueWorker } from './standings.ts'

export interface ScoredRevocation extends Revocation {
  /** The dispute that was upheld, where that is why: `score.revised` names it. */
  disputeId?: string
}

export interface RevokedWithScores {
  /** Ids that were revoked now, and those that had been before: these keep their first reason. */
  revoked: string[]
  alreadyRevoked: string[]
  notFound: string[]
  /** One for each worker that lost evidence; none where `scoring` is null. */
  scored: ScoredWorker[]
}

/**
 * `ids` in lowercase, each once; of any number of workers. `scoring` is null where nothing can be computed or issued now: evidence and
 * credentials are revoked all the same, and the workers stay marked for recomputation.
 */
export async function revokeAndRescore(
  tx: Tx,
  scoring: Scoring | null,
  ids: readonly string[],
  revocation: ScoredRevocation,
): Promise<RevokedWithScores> {
  const asked = await lockOwners(tx, ids)
  const answer = await revokeEvidence(tx, ids, revocation)
  const lost = asked.filter(({ evidenceId }) => answer.revoked.includes(evidenceId))
  if (lost.length === 0) return { ...answer, scored: [] }
  const restedOn = await scoresRestingOn(tx, lost)
  const earlier = await earlierRestingOn(tx, lost)
  const { scored, events, remaining } =
    scoring === null
      ? await revokeWithoutScoring(tx, lost, restedOn, revocation.now)
      : await scoreWithout(tx, scoring, { lost, restedOn, earlier, revocation })
  await revokeCredentialsOf(tx, earlier, revocation.now)
  const sharing = await whoShares(tx, lost)
  const told = lost
    .filter(({ workerId }) => sharing.has(workerId))
    .flatMap((item) =>
      snapshotsToName(item, restedOn, earlier).map((snapshot) =>
        evidenceRevoked(item, { snapshot, remaining, revocation }),
      ),
    )
  await publishEvents(tx, [...told, ...events], revocation.now)
  return { ...answer, scored }
}

/** By worker: what still counts. */
type Remaining = ReadonlyMap<string, { evidenceCount: number; sourceCount: number }>

interface Outcome {
  scored: ScoredWorker[]
  events: NewEvent[]
  remaining: Remaining
}

interface Loss {
  lost: readonly OwnedEvidence[]
  restedOn: RestedOn
  earlier: readonly RestingSnapshot[]
  revocation: ScoredRevocation
}

async function scoreWithout(
  tx: Tx,
  scoring: Scoring,
  { lost, restedOn, earlier, revocation }: Loss,
): Promise<Outcome> {
  const { disputeId, now } = revocation
  const wrong = new Set([...restedOn.values()].map(({ workerId }) => workerId))
  const wasWrong = new Set(earlier.map(({ workerId }) => workerId))
  const due = workersOf(lost).map((workerId): DueWorker => {
    // Without a dispute the scoring sees by itself that the score rests on what is revoked now.
    if (disputeId === undefined) return { workerId, correction: null }
    const correction = { reason: 'dispute_upheld', disputeId } as const
    if (wrong.has(workerId)) return { workerId, correction }
    // The score of today does without the item already, which was set aside when the dispute was opened.
    return {
      workerId,
      correction: wasWrong.has(workerId) ? { ...correction, isForced: true } : null,
    }
  })
  const { scored, events } = await rescore(tx, scoring, due, now)
  const counted = new Map(await remainingEvidence(tx, unscorable(scored)))
  for (const { workerId, result } of scored) if (result !== null) counted.set(workerId, result)
  return { scored, events, remaining: counted }
}

function unscorable(scored: readonly ScoredWorker[]): string[] {
  return scored.filter(({ result }) => result === null).map(({ workerId }) => workerId)
}

/** The wrong scores stay active for now, but nothing vouches for them any more. */
async function revokeWithoutScoring(
  tx: Tx,
  lost: readonly OwnedEvidence[],
  restedOn: RestedOn,
  now: Date,
): Promise<Outcome> {
  const wrong = [...new Set(restedOn.values())].flatMap(({ vcSha256 }) => vcSha256 ?? [])
  if (wrong.length > 0) await revokeDigests(tx, wrong, now)
  return { scored: [], events: [], remaining: await remainingEvidence(tx, workersOf(lost)) }
}

/** Counted without the engine: what is active and of a source that is trusted with anything. */
async function remainingEvidence(tx: Tx, workerIds: readonly string[]): Promise<Remaining> {
  if (workerIds.length === 0) return new Map()
  const items = await findWorkerEvidence(tx, workerIds)
  return new Map(
    workerIds.map((workerId) => {
      const own = items.filter(
        (item) => item.workerId === workerId && item.state === 'active' && item.assurance > 0,
      )
      const groups = new Set(own.map(({ group }) => group))
      return [workerId, { evidenceCount: own.length, sourceCount: groups.size }]
    }),
  )
}

/** Of whom anything but consent may be told. */
async function whoShares(tx: Tx, lost: readonly OwnedEvidence[]): Promise<Set<string>> {
  const people = await findWorkerFacts(tx, workersOf(lost))
  const sharing = people.filter(mayPublish)
  return new Set(sharing.map(({ workerId }) => workerId))
}

/**
 * Returns the scores whose credentials are revoked with the item, for one event each; else the score that
 * the item was part of, if any.
 */
function snapshotsToName(
  { evidenceId }: OwnedEvidence,
  restedOn: RestedOn,
  earlier: readonly RestingSnapshot[],
): (Snapshot | undefined)[] {
  const active = restedOn.get(evidenceId)
  const ended = earlier.filter((snapshot) => snapshot.restedOn.has(evidenceId))
  const hasCredential = active !== undefined && active.vcSha256 !== null
  return hasCredential || ended.length === 0 ? [active, ...ended] : ended
}

function evidenceRevoked(
  { evidenceId, workerId, type, skillId }: OwnedEvidence,
  told: { snapshot: Snapshot | undefined; remaining: Remaining; revocation: Revocation },
): NewEvent {
  const { reason, now } = told.revocation
  const { snapshot } = told
  const { evidenceCount, sourceCount } = told.remaining.get(workerId) ?? nothing
  const data = {
    workerId,
    evidenceId,
    evidenceType: type,
    skillIds: [skillId],
    reason: reason satisfies RevocationReason,
    evidenceCount,
    sourceCount,
    snapshotId: snapshot?.snapshotId.toString('hex') ?? null,
    scoreVcSha256: snapshot?.vcSha256?.toString('hex') ?? null,
    scoreVcStatusToken: snapshot?.statusToken?.toString('hex') ?? null,
    revokedAt: wireTime(now),
  }
  return { type: 'evidence.revoked', workerId, data }
}

const nothing = { evidenceCount: 0, sourceCount: 0 }
