/** Opens, reviews and ends disputes for tests. */
import assert from 'node:assert/strict'
import type { Db, Tx } from '../../../src/platform/db/db.ts'
import type { Dispute, Ending } from '../../../src/scoring/disputes/dispute.ts'
import { endDispute } from '../../../src/scoring/disputes/end-dispute.ts'
import {
  type DisputeRequest,
  type MoveRefusal,
  type OpenRefusal,
  openDispute,
  reviewDispute,
} from '../../../src/scoring/disputes/open-dispute.ts'
import type { Scoring } from '../../../src/scoring/scores/scoring.ts'
import { daysAfter, scoring } from './scores.ts'

export function tryToOpen(
  db: Db,
  request: Pick<DisputeRequest, 'workerId'> & Partial<DisputeRequest>,
  now = daysAfter(1),
): Promise<Dispute | OpenRefusal> {
  return db.transaction((tx) => tryTo(tx, request, now))
}

/** Opens a dispute within the caller's transaction. */
export function tryTo(
  tx: Tx,
  request: Pick<DisputeRequest, 'workerId'> & Partial<DisputeRequest>,
  now = daysAfter(1),
): Promise<Dispute | OpenRefusal> {
  const asked = { kind: 'score', evidenceIds: [], restricted: false, exclude: false, ...request }
  const action = { actor: 'ada', now, dueAt: daysAfter(30, now) }
  return openDispute(tx, asked as DisputeRequest, action)
}

export async function opened(
  db: Db,
  request: Pick<DisputeRequest, 'workerId'> & Partial<DisputeRequest>,
  now = daysAfter(1),
): Promise<Dispute> {
  const dispute = await tryToOpen(db, request, now)
  assert.ok(!('refusal' in dispute), JSON.stringify(dispute))
  return dispute
}

export function review(
  db: Db,
  disputeId: string,
  now = daysAfter(2),
): Promise<Dispute | MoveRefusal> {
  return db.transaction((tx) => reviewDispute(tx, disputeId, { actor: 'bob', now }))
}

export interface EndingWish {
  ending: Ending
  upheldIds?: readonly string[]
  now?: Date
  by?: Scoring
}

export function end(
  db: Db,
  disputeId: string,
  { ending, upheldIds = [], now = daysAfter(3), by = scoring }: EndingWish,
): ReturnType<typeof endDispute> {
  const request = { disputeId, ending, upheldIds, actor: 'cyd', now }
  return db.transaction((tx) => endDispute(tx, by, request))
}

/** Opens, reviews and ends a dispute. */
export async function resolved(
  db: Db,
  request: Pick<DisputeRequest, 'workerId'> & Partial<DisputeRequest>,
  ending: EndingWish,
) {
  const dispute = await opened(db, request)
  await review(db, dispute.id)
  const ended = await end(db, dispute.id, ending)
  assert.ok(!('refusal' in ended), JSON.stringify(ended))
  return ended
}
