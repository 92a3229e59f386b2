/** Pure: the events of a score, from the score that is sent and the one before it. */
import { wireTime } from '../platform/clock.ts'
import type { NewEvent } from '../webhooks/events/outbox.ts'
import type { Correction } from './score-change.ts'
import type { Snapshot } from './snapshot.ts'

/** A score with its credential: without one there is nothing to tell the outside. */
export type SharedSnapshot = Snapshot & { vcSha256: Buffer; statusToken: Buffer }

/** `now`: when its credential was issued. */
export function scoreUpdated(snapshot: SharedSnapshot, now: Date): NewEvent {
  const { workerId } = snapshot
  return { type: 'score.updated', workerId, data: newScore(snapshot, now) }
}

export interface Revision extends Correction {
  previous: Snapshot
}

export function scoreRevised(snapshot: SharedSnapshot, revision: Revision, now: Date): NewEvent {
  const { previous, reason, disputeId } = revision
  const data = {
    ...newScore(snapshot, now),
    previousSnapshotId: previous.snapshotId.toString('hex'),
    previousScore: previous.score,
    previousScoreVcSha256: previous.vcSha256?.toString('hex') ?? null,
    previousScoreVcStatusToken: previous.statusToken?.toString('hex') ?? null,
    reason,
    disputeId,
    revisedAt: wireTime(now),
  }
  return { type: 'score.revised', workerId: snapshot.workerId, data }
}

function newScore(snapshot: SharedSnapshot, now: Date) {
  const { workerId, snapshotId, score, low, high, evidenceCount, sourceCount } = snapshot
  return {
    workerId,
    snapshotId: snapshotId.toString('hex'),
    score,
    confidenceLow: low,
    confidenceHigh: high,
    evidenceCount,
    sourceCount,
    scoreVcSha256: snapshot.vcSha256.toString('hex'),
    scoreVcStatusToken: snapshot.statusToken.toString('hex'),
    issuedAt: wireTime(now),
  }
}
