/**
 * The verbs by which consent and identity are changed: those of the room people, and what follows for the score, in one transaction. Nobody
 * calls the verbs of the room people beside them (test/modules.test.ts), so that a withdrawal cannot leave a credential standing.
 */
import { markForRecomputation } from '../evidence/recomputation-store.ts'
import type { Tx } from '../platform/db/db.ts'
import { findUnrevokedDigests } from '../score-credentials/personal-store.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import {
  type Attribution,
  type ConsentOutcome,
  type ConsentRequest,
  recordConsent,
} from '../workers/consent.ts'
import { type IdentityOutcome, type Move, recordIdentityMove } from '../workers/identity.ts'
import { findUsernameDigests } from '../workers/personal-store.ts'
import { type Registered, registerOrEditWorkers } from '../workers/register.ts'
import type { Registration } from '../workers/registration.ts'
import { findWorkerFacts, lockWorkers } from '../workers/store.ts'
import { endsSharing, mayShare, mustTakeBack } from './sharing.ts'
import { clearCredentials, findWorkerCredentials } from './store.ts'

/** Grants or withdraws a permission; see the room people for what comes of it there. */
export async function changeConsent(
  tx: Tx,
  username: string,
  wish: ConsentRequest & Attribution,
): Promise<ConsentOutcome> {
  const changed = await recordConsent(tx, username, wish)
  if (changed.outcome !== 'changed') return changed
  const { workerId } = changed.change
  if (endsSharing(wish)) await takeBackAll(tx, workerId, wish.at)
  await keepSharing(tx, [workerId], wish.at)
  return changed
}

export async function moveIdentity(
  tx: Tx,
  move: Move & { workerId: string },
  attribution: Attribution,
): Promise<IdentityOutcome> {
  const moved = await recordIdentityMove(tx, move, attribution)
  if (moved.outcome !== 'changed') return moved
  const { workerId } = move
  if (moved.to === 'revoked') await takeBackAll(tx, workerId, attribution.at)
  await keepSharing(tx, [workerId], attribution.at)
  return moved
}

/** What was issued by hand, too, under any name that the person had: an operator need not have asked for consent here, but was told of its end. */
async function takeBackAll(tx: Tx, workerId: string, now: Date): Promise<void> {
  const standing = await findUnrevokedDigests(tx, await findUsernameDigests(tx, workerId))
  if (standing.length > 0) await revokeDigests(tx, standing, now)
}

/** Registers people or brings them up to date. */
export async function registerWorkers(
  tx: Tx,
  registrations: readonly Registration[],
  attribution: Attribution,
): Promise<Registered[]> {
  const registered = await registerOrEditWorkers(tx, registrations, attribution)
  const updated = registered.flatMap((one) =>
    'outcome' in one && one.outcome === 'updated' ? one.workerId : [],
  )
  await keepSharing(tx, updated, attribution.at)
  return registered
}

/**
 * Brings credentials in line with what these people allow: taken back, every credential that any of their scores had is revoked, and the
 * scores stay; allowed again, who has a score without a credential is due for one.
 */
async function keepSharing(tx: Tx, workerIds: readonly string[], now: Date): Promise<void> {
  if (workerIds.length === 0) return
  await lockWorkers(tx, workerIds)
  const credentials = await findWorkerCredentials(tx, workerIds)
  if (credentials.length === 0) return
  const people = await findWorkerFacts(tx, [...new Set(credentials.map((one) => one.workerId))])
  const takenBack = new Set(people.filter(mustTakeBack).map(({ workerId }) => workerId))
  const allowed = new Set(people.filter((one) => mayShare(one, now)).map((one) => one.workerId))
  const wrong = credentials.flatMap(({ workerId, vcSha256 }) =>
    takenBack.has(workerId) && vcSha256 !== null ? vcSha256 : [],
  )
  if (wrong.length > 0) {
    await clearCredentials(tx, [...takenBack])
    await revokeDigests(tx, wrong, now)
  }
  const due = credentials.filter(
    ({ workerId, vcSha256, active }) => active && vcSha256 === null && allowed.has(workerId),
  )
  await markForRecomputation(
    tx,
    due.map(({ workerId }) => workerId),
    { reason: 'sharing_allowed', now },
  )
}
