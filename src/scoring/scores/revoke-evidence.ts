/**
 * Revocation of evidence with its consequences in one transaction: the evidence, the affected
 * scores, their credentials and the events. The events are in causal order: `evidence.revoked` for
 * each item, then `score.revised`.
 */
import { revokeDigests } from '../../credentials/revoke.ts'
import { wireTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/db.ts'
import { type NewEvent, publishEvents } from '../../webhooks/events/outbox.ts'
import { findWorkerFacts } from '../../workers/api.ts'
import {
  type Revocation,
  type RevokedEvidence,
  revokeEvidence,
} from '../evidence/revoke-evidence.ts'
import type { RevocationReason } from '../evidence/schema.ts'
import { findWorkerEvidence, type OwnedEvidence } from '../evidence/store.ts'
import { mayPublish } from './keep-sharing.ts'
import { rescore, type ScoredWorker } from './score-workers.ts'
import type { Scoring } from './scoring.ts'
import {
  type AffectedScores,
  type DueWorker,
  type EarlierAffectedSnapshot,
  findAffectedScores,
  findEarlierAffected,
  lockEvidenceWorkers,
  revokeCredentialsOf,
  workersOf,
} from './scoring-inputs.ts'
import type { Snapshot } from './snapshot.ts'

export interface ScoredRevocation extends Revocation {
  /** The upheld dispute that caused the revocation, if any. `score.revised` names it. */
  disputeId?: string
}

export interface RevokedWithScores extends RevokedEvidence {
  /** One entry for each worker that lost evidence; empty if `scoring` is null. */
  scored: ScoredWorker[]
}

/**
 * Revokes evidence of any number of workers and scores them again. `ids` are in lowercase, each
 * once. If `scoring` is null, no score can be computed now: evidence and credentials are still
 * revoked, and the workers stay marked for recomputation.
 */
export async function revokeAndRescore(
  tx: Tx,
  scoring: Scoring | null,
  ids: readonly string[],
  revocation: ScoredRevocation,
): Promise<RevokedWithScores> {
  const asked = await lockEvidenceWorkers(tx, ids)
  const answer = await revokeEvidence(tx, ids, revocation)
  const lost = asked.filter(({ evidenceId }) => answer.revoked.includes(evidenceId))
  if (lost.length === 0) return { ...answer, scored: [] }
  const affected = await findAffectedScores(tx, lost)
  const earlier = await findEarlierAffected(tx, lost)
  const { scored, events, remaining } =
    scoring === null
      ? await revokeWithoutScoring(tx, lost, affected, revocation.now)
      : await scoreWithout(tx, scoring, { lost, affected, earlier, revocation })
  await revokeCredentialsOf(tx, earlier, revocation.now)
  const sharing = await findSharingWorkers(tx, lost)
  const revocationEvents = lost
    .filter(({ workerId }) => sharing.has(workerId))
    .flatMap((item) =>
      snapshotsToName(item, affected, earlier).map((snapshot) =>
        evidenceRevoked(item, { snapshot, remaining, revocation }),
      ),
    )
  await publishEvents(tx, [...revocationEvents, ...events], revocation.now)
  return { ...answer, scored }
}

/** Worker id to the evidence that still counts. */
type Remaining = ReadonlyMap<string, { evidenceCount: number; sourceCount: number }>

interface Outcome {
  scored: ScoredWorker[]
  events: NewEvent[]
  remaining: Remaining
}

interface Loss {
  lost: readonly OwnedEvidence[]
  affected: AffectedScores
  earlier: readonly EarlierAffectedSnapshot[]
  revocation: ScoredRevocation
}

async function scoreWithout(
  tx: Tx,
  scoring: Scoring,
  { lost, affected, earlier, revocation }: Loss,
): Promise<Outcome> {
  const { disputeId, now } = revocation
  const wrong = new Set([...affected.values()].map(({ workerId }) => workerId))
  const wasWrong = new Set(earlier.map(({ workerId }) => workerId))
  const due = workersOf(lost).map((workerId): DueWorker => {
    // Without a dispute, the scoring run itself finds that the score counts revoked evidence.
    if (disputeId === undefined) return { workerId, correction: null }
    const correction = { reason: 'dispute_upheld', disputeId } as const
    if (wrong.has(workerId)) return { workerId, correction }
    // The active score no longer counts the item, because the dispute excluded it when it was
    // opened.
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

/**
 * Revokes the credentials of the affected scores. The scores stay active until the next
 * recomputation.
 */
async function revokeWithoutScoring(
  tx: Tx,
  lost: readonly OwnedEvidence[],
  affected: AffectedScores,
  now: Date,
): Promise<Outcome> {
  const wrong = [...new Set(affected.values())].flatMap(({ vcSha256 }) => vcSha256 ?? [])
  if (wrong.length > 0) await revokeDigests(tx, wrong, now)
  return { scored: [], events: [], remaining: await remainingEvidence(tx, workersOf(lost)) }
}

/** Counts remaining evidence without the engine: active items with an assurance above 0. */
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

/** Returns the workers about which events may be published. */
async function findSharingWorkers(tx: Tx, lost: readonly OwnedEvidence[]): Promise<Set<string>> {
  const workers = await findWorkerFacts(tx, workersOf(lost))
  const sharing = workers.filter(mayPublish)
  return new Set(sharing.map(({ workerId }) => workerId))
}

/**
 * Returns the scores whose credentials are revoked with the item, for one event each; else the
 * score that the item was part of, if any.
 */
function snapshotsToName(
  { evidenceId }: OwnedEvidence,
  affected: AffectedScores,
  earlier: readonly EarlierAffectedSnapshot[],
): (Snapshot | undefined)[] {
  const active = affected.get(evidenceId)
  const ended = earlier.filter((snapshot) => snapshot.countedIds.has(evidenceId))
  const hasCredential = active !== undefined && active.vcSha256 !== null
  return hasCredential || ended.length === 0 ? [active, ...ended] : ended
}

function evidenceRevoked(
  { evidenceId, workerId, type, skillId }: OwnedEvidence,
  facts: { snapshot: Snapshot | undefined; remaining: Remaining; revocation: Revocation },
): NewEvent {
  const { reason, now } = facts.revocation
  const { snapshot } = facts
  const { evidenceCount, sourceCount } = facts.remaining.get(workerId) ?? nothing
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
