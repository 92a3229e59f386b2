/** Pure: builds the events of a dispute. */
import { wireTime } from '../../platform/clock.ts'
import type { NewEvent } from '../../webhooks/events/outbox.ts'
import type { Dispute, Ending } from './dispute.ts'

export type DisputeFacts = Pick<
  Dispute,
  'id' | 'workerId' | 'kind' | 'snapshotId' | 'restricted' | 'openedAt'
>

export function disputeOpened(dispute: DisputeFacts): NewEvent {
  return { type: 'dispute.opened', workerId: dispute.workerId, data: disputed(dispute) }
}

export interface End {
  ending: Ending
  resultingSnapshotId: string | null
  endedAt: Date
}

export function disputeResolved(dispute: DisputeFacts, end: End): NewEvent {
  const { ending, resultingSnapshotId, endedAt } = end
  const data = {
    ...disputed(dispute),
    resolution: ending,
    scoreChanged: isScoreChanged(dispute, resultingSnapshotId),
    resultingSnapshotId,
    resolvedAt: wireTime(endedAt),
  }
  return { type: 'dispute.resolved', workerId: dispute.workerId, data }
}

/**
 * Compares with the score that was disputed. If excluded evidence changed the score before the
 * decision, that counts as a change too.
 */
export function isScoreChanged(
  { snapshotId }: Pick<Dispute, 'snapshotId'>,
  resultingSnapshotId: string | null,
): boolean {
  return snapshotId !== resultingSnapshotId
}

function disputed({ id, workerId, kind, snapshotId, restricted, openedAt }: DisputeFacts) {
  return {
    workerId,
    disputeId: id,
    kind,
    snapshotId,
    restricted,
    openedAt: wireTime(openedAt),
  }
}
