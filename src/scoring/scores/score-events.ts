/** Pure: builds the events of a score from the new score and the one before it. */
import { wireTime } from '../../platform/clock.ts'
import type { NewEvent } from '../../webhooks/events/outbox.ts'
import type { Correction } from './score-change.ts'
import type { SharedSnapshot, Snapshot } from './snapshot.ts'

/** Builds `score.updated`. `now` is the issue time of the credential. */
export function scoreUpdated(snapshot: SharedSnapshot, now: Date): NewEvent {
  const { workerId } = snapshot
  return { type: 'score.updated', workerId, data: newScore(snapshot, now) }
}

export interface Revision extends Correction {
  previous: Snapshot
  /** Issue time of the new score's credential. */
  issuedAt: Date
  revisedAt: Date
}

export function scoreRevised(snapshot: SharedSnapshot, revision: Revision): NewEvent {
  const { previous, reason, disputeId, issuedAt, revisedAt } = revision
  const data = {
    ...newScore(snapshot, issuedAt),
    previousSnapshotId: previous.snapshotId.toString('hex'),
    previousScore: previous.score,
    previousScoreVcSha256: previous.vcSha256?.toString('hex') ?? null,
    previousScoreVcStatusToken: previous.statusToken?.toString('hex') ?? null,
    reason,
    disputeId,
    revisedAt: wireTime(revisedAt),
  }
  return { type: 'score.revised', workerId: snapshot.workerId, data }
}

function newScore(snapshot: SharedSnapshot, issuedAt: Date) {
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
    issuedAt: wireTime(issuedAt),
  }
}
