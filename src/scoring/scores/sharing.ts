/**
 * Pure: decides if a worker's score may leave the service in a credential and in events (decisions
 * D28, D33).
 */
import type { ConsentRequest } from '../../workers/consent.ts'
import { readable, type WorkerFacts } from '../../workers/gate.ts'
import { isIdentityActive } from '../../workers/identity-state.ts'
import type { Permission } from '../../workers/schema.ts'

const needed: readonly Permission[] = ['public_profile', 'score_sharing']

type SharingFacts = Omit<WorkerFacts, 'workerId' | 'username'>

/**
 * Returns whether a credential may be issued. A dispute does not matter, because it only hides the
 * score from reads.
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
export function endsSharing({ permission, textVersion }: ConsentRequest): boolean {
  return textVersion === null && needed.includes(permission)
}
