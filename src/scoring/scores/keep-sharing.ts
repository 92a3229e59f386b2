/**
 * Changes of consent and identity together with their effect on credentials, in one transaction.
 * All other modules use these functions and not those of the module `workers`
 * (test/modules.test.ts), so that a withdrawal cannot leave a credential valid.
 */
import { findUnrevokedDigests } from '../../credentials/api.ts'
import { revokeDigests } from '../../credentials/revoke.ts'
import type { Applied } from '../../operations/ingest.ts'
import { changed, unchanged } from '../../operations/operation.ts'
import type { Tx } from '../../platform/db/db.ts'
import {
  type ConsentChange,
  completeOnboarding,
  findUsernameDigests,
  findWorkerFacts,
  lockWorkers,
  recordIdentityMove,
} from '../../workers/api.ts'
import {
  type Attribution,
  type ConsentRequest,
  recordConsent,
  recordConsents,
  type WorkerConsentRequest,
} from '../../workers/consent.ts'
import { readable, type WorkerFacts } from '../../workers/gate.ts'
import type { Move } from '../../workers/identity.ts'
import { isIdentityActive } from '../../workers/identity-state.ts'
import { type Registered, registerOrEditWorkers } from '../../workers/register.ts'
import type { Registration } from '../../workers/registration.ts'
import type { Permission } from '../../workers/schema.ts'
import { markForRecomputation } from '../evidence/recomputation-store.ts'
import { deleteReissuesOf } from './reissue-store.ts'
import { clearCredentials, findWorkerCredentials } from './store.ts'

/** Grants or withdraws a permission with `recordConsent` and updates the worker's credentials. */
export async function changeConsent(
  tx: Tx,
  username: string,
  request: ConsentRequest & Attribution,
): ReturnType<typeof recordConsent> {
  const recorded = await recordConsent(tx, username, request)
  if ('refusal' in recorded || recorded.change === null) return recorded
  const { workerId } = recorded.change
  if (endsSharing(request)) await revokeAllCredentials(tx, workerId, request.at)
  await keepSharing(tx, [workerId], request.at)
  return recorded
}

/**
 * Changes consents of many workers, as `changeConsent` does. Each permission of a worker may occur
 * once. Returns the changes that took effect.
 */
export async function changeConsents(
  tx: Tx,
  requests: readonly WorkerConsentRequest[],
  attribution: Attribution,
): Promise<ConsentChange[]> {
  const changes = await recordConsents(tx, requests, attribution)
  const workerIds = [...new Set(changes.map(({ workerId }) => workerId))]
  await completeOnboarding(tx, workerIds, attribution.at)
  const ended = new Set(changes.filter(endsSharing).map(({ workerId }) => workerId))
  for (const workerId of ended) await revokeAllCredentials(tx, workerId, attribution.at)
  await keepSharing(tx, workerIds, attribution.at)
  return changes
}

export async function moveIdentity(
  tx: Tx,
  move: Move & { workerId: string },
  attribution: Attribution,
): ReturnType<typeof recordIdentityMove> {
  const moved = await recordIdentityMove(tx, move, attribution)
  if ('refusal' in moved || moved.to === null) return moved
  const { workerId } = move
  if (moved.to === 'revoked') await revokeAllCredentials(tx, workerId, attribution.at)
  await keepSharing(tx, [workerId], attribution.at)
  return moved
}

/**
 * Revokes the worker's credentials that were issued by hand too, under every name the worker had.
 * An operator may issue them without a recorded consent, but must honour its withdrawal.
 */
async function revokeAllCredentials(tx: Tx, workerId: string, now: Date): Promise<void> {
  const unrevoked = await findUnrevokedDigests(tx, await findUsernameDigests(tx, workerId))
  if (unrevoked.length > 0) await revokeDigests(tx, unrevoked, now)
}

/** Registers workers or edits their profiles, and updates their credentials. */
export async function registerWorkers(
  tx: Tx,
  registrations: readonly Registration[],
  attribution: Attribution,
): Promise<Registered[]> {
  const registered = await registerOrEditWorkers(tx, registrations, attribution)
  const updated = registered.flatMap((one) =>
    'result' in one && one.result === 'updated' ? one.workerId : [],
  )
  await keepSharing(tx, updated, attribution.at)
  return registered
}

/**
 * Makes credentials agree with consent and identity. If sharing ended, every credential of any of
 * the worker's scores is revoked and the scores stay. If sharing is allowed again, a worker whose
 * score has no credential is marked for one.
 */
async function keepSharing(tx: Tx, workerIds: readonly string[], now: Date): Promise<void> {
  if (workerIds.length === 0) return
  await lockWorkers(tx, workerIds)
  const credentials = await findWorkerCredentials(tx, workerIds)
  if (credentials.length === 0) return
  const workers = await findWorkerFacts(tx, [...new Set(credentials.map((one) => one.workerId))])
  const revoked = new Set(workers.filter(mustRevokeCredentials).map(({ workerId }) => workerId))
  const allowed = new Set(workers.filter((one) => mayShare(one, now)).map((one) => one.workerId))
  const wrong = credentials.flatMap(({ workerId, vcSha256 }) =>
    revoked.has(workerId) && vcSha256 !== null ? vcSha256 : [],
  )
  if (wrong.length > 0) {
    await clearCredentials(tx, [...revoked])
    await deleteReissuesOf(tx, [...revoked])
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

/** Registers workers or edits their profiles, as `registerWorkers` does. */
export async function importWorkers(
  tx: Tx,
  registrations: readonly Registration[],
  attribution: Attribution,
): Promise<Applied<'created' | 'updated' | 'unchanged', 'workers.imported'>> {
  const registered = await registerWorkers(tx, registrations, attribution)
  const [created, updated] = [idsOf(registered, 'created'), idsOf(registered, 'updated')]
  const subjects = [...created, ...updated]
  if (subjects.length === 0) return unchanged(registered)
  const details = { created: created.length, updated: updated.length }
  return changed(registered, { subjects, details })
}

function idsOf(registered: readonly Registered[], result: 'created' | 'updated'): string[] {
  return registered.flatMap((one) => ('result' in one && one.result === result ? one.workerId : []))
}

const needed: readonly Permission[] = ['public_profile', 'score_sharing']

type SharingFacts = Omit<WorkerFacts, 'workerId' | 'username'>

/**
 * Returns whether a credential may be issued. A dispute does not matter, because it only hides the
 * score from reads. Decides if a worker's score may leave the service in a credential and in events
 * (decisions D28, D33).
 */
export function mayShare({ onboarded, consents, identity }: SharingFacts, now: Date): boolean {
  const identityActive = isIdentityActive(identity, now)
  return readable({ onboarded, consents, identityActive, snapshotActive: true, restricted: false })
    .score
}

/** Returns whether events about the worker may be sent. Consent events are sent in any case. */
export function mayPublish({ consents }: Pick<SharingFacts, 'consents'>): boolean {
  return needed.every((permission) => consents[permission])
}

/**
 * Returns whether the worker's credentials must be revoked. An expired identity check is no reason
 * to revoke, because the identity was verified when the credential was issued.
 */
export function mustRevokeCredentials({ consents, identity }: SharingFacts): boolean {
  return !mayPublish({ consents }) || identity?.state === 'revoked'
}

/**
 * Returns whether a change of consent ends sharing. The consent to be listed in search does not
 * matter.
 */
function endsSharing({ permission, textVersion }: ConsentRequest): boolean {
  return textVersion === null && needed.includes(permission)
}
