/** Pure: whether a person's score may leave the house as a credential and in events (decisions D28, D33). */
import type { ConsentRequest } from '../workers/consent.ts'
import { readable, type WorkerFacts } from '../workers/gate.ts'
import { isIdentityActive } from '../workers/identity-state.ts'
import type { Permission } from '../workers/schema.ts'

const needed: readonly Permission[] = ['public_profile', 'score_sharing']

type SharingFacts = Omit<WorkerFacts, 'workerId' | 'username'>

/** A credential may be issued. A dispute only restricts what is read meanwhile. */
export function mayShare({ onboarded, consents, identity }: SharingFacts, now: Date): boolean {
  const identityActive = isIdentityActive(identity, now)
  return readable({ onboarded, consents, identityActive, snapshotActive: true, restricted: false })
    .score
}

/** Events about the person may be sent, besides those of consent itself. */
export function mayPublish({ consents }: Pick<SharingFacts, 'consents'>): boolean {
  return needed.every((permission) => consents[permission])
}

/**
 * The credentials that the person has must not stand any longer. An identity check that ran out is no reason: they stay true of their
 * date.
 */
export function mustTakeBack({ consents, identity }: SharingFacts): boolean {
  return !mayPublish({ consents }) || identity?.state === 'revoked'
}

/** The person does not want to be scored in public any more; whether they are listed has nothing to do with it. */
export function endsSharing({ permission, textVersion }: ConsentRequest): boolean {
  return textVersion === null && needed.includes(permission)
}
