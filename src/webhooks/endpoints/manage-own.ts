/**
 * The verbs by which members of an account change its webhook endpoints. Each takes the account,
 * finds the endpoint of that account alone, keeps it locked until the end of the transaction, and
 * writes its audit entry in the same transaction.
 */
import { type ActionContext, audited, changed, unchanged } from '../../audit/action.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Tx } from '../../platform/db/db.ts'
import { type EndpointState, lockEndpoint } from '../delivery/endpoint-store.ts'
import { findEndpointHealth } from '../delivery/history-store.ts'
import { type Resent, resendEvent } from '../delivery/resend.ts'
import { untilNothingStarts } from '../delivery/start-window.ts'
import { type Creation, type CreationInput, type CreationRules, createEndpoint } from './create.ts'
import { disableEndpoint } from './disable.ts'
import { type EnableOutcome, enableEndpoint, pauseEndpoint } from './enable.ts'
import {
  activateSecret,
  type RotationOutcome,
  replaceSecret,
  rotateSecret,
} from './rotate-secret.ts'

/** An endpoint and the account that must own it. */
export interface OwnEndpoint {
  endpointId: string
  userId: string
}

type Missing = { outcome: 'no such endpoint' }
const missing: Missing = { outcome: 'no such endpoint' }

/** A foreign endpoint and an unknown one have the same result. */
function findOwn(tx: Tx, { endpointId, userId }: OwnEndpoint): Promise<EndpointState | undefined> {
  return lockEndpoint(tx, { endpointId, owner: { userId } })
}

export type OwnPaused = { outcome: 'changed' | 'unchanged' | 'disabled' } | Missing

/** Holds deliveries back, or lets them go. */
export function setOwnPaused(
  context: ActionContext,
  own: OwnEndpoint,
  isPaused: boolean,
): Promise<OwnPaused> {
  const action = isPaused ? 'webhooks.paused' : 'webhooks.resumed'
  return audited(context, action, async (tx, now) => {
    const endpoint = await findOwn(tx, own)
    if (endpoint === undefined) return unchanged(missing)
    if (endpoint.disabledAt !== null) return unchanged({ outcome: 'disabled' })
    if ((endpoint.pausedAt !== null) === isPaused) return unchanged({ outcome: 'unchanged' })
    await pauseEndpoint(tx, endpoint.id, isPaused ? now : null)
    return changed({ outcome: 'changed' }, { subjects: [endpoint.id] })
  })
}

/** Disables an endpoint. No delivery begins after this resolves. */
export async function disableOwn(
  context: ActionContext,
  own: OwnEndpoint,
): Promise<{ outcome: 'disabled' } | Missing> {
  const result = await audited(context, 'webhooks.disabled', async (tx, now) => {
    const { endpointId, userId } = own
    const disabling = { endpointId, owner: { userId }, reason: 'owner', now } as const
    const disabled = await disableEndpoint(tx, disabling)
    if (disabled === null) return unchanged(missing)
    const done = { outcome: 'disabled', isNew: disabled.changed } as const
    return disabled.changed ? changed(done, { subjects: [endpointId] }) : unchanged(done)
  })
  if ('isNew' in result && result.isNew) await untilNothingStarts(context.clock(), context.clock())
  return result
}

/** Enables an endpoint again, from the next event on. */
export function enableOwn(
  context: ActionContext,
  own: OwnEndpoint,
  activeMax: number,
): Promise<{ outcome: EnableOutcome }> {
  return audited(context, 'webhooks.enabled', async (tx, at) => {
    if ((await findOwn(tx, own)) === undefined) return unchanged(missing)
    const outcome = await enableEndpoint(tx, { endpointId: own.endpointId, activeMax, at })
    return outcome === 'enabled'
      ? changed({ outcome }, { subjects: [own.endpointId] })
      : unchanged({ outcome })
  })
}

/** Announces a new secret. It signs after a day, or once it is activated. */
export function rotateOwnSecret(
  context: ActionContext,
  own: OwnEndpoint,
  ring: Keyring,
): Promise<RotationOutcome> {
  return audited(context, 'webhooks.rotated', async (tx, at) => {
    if ((await findOwn(tx, own)) === undefined) return unchanged(missing)
    const rotated = await rotateSecret(tx, { endpointId: own.endpointId, ring, at })
    return rotated.outcome === 'rotated'
      ? changed(rotated, { subjects: [own.endpointId] })
      : unchanged(rotated)
  })
}

/** Lets the announced secret sign now. */
export function activateOwnSecret(
  context: ActionContext,
  own: OwnEndpoint,
): Promise<{ outcome: 'activated' | 'none announced' } | Missing> {
  return audited(context, 'webhooks.secret_activated', async (tx, at) => {
    if ((await findOwn(tx, own)) === undefined) return unchanged(missing)
    return (await activateSecret(tx, own.endpointId, at))
      ? changed({ outcome: 'activated' }, { subjects: [own.endpointId] })
      : unchanged({ outcome: 'none announced' })
  })
}

export type OwnReplaced =
  | { outcome: 'replaced'; secret: string }
  | { outcome: 'replaced before' }
  | Missing

/**
 * Replaces a leaked secret: the older ones sign nothing after this resolves. `secretPrefix` is that
 * of the secret to replace. If two members replace the same one, the second is refused, because it
 * would replace the secret that the first has just stored.
 */
export async function replaceOwnSecret(
  context: ActionContext,
  { secretPrefix, ...own }: OwnEndpoint & { secretPrefix: string },
  ring: Keyring,
): Promise<OwnReplaced> {
  const result: OwnReplaced = await audited(
    context,
    'webhooks.secret_replaced',
    async (tx, now) => {
      const endpoint = await findOwn(tx, own)
      if (endpoint === undefined) return unchanged(missing)
      const [known] = await findEndpointHealth(tx, own, now)
      if (known?.secretPrefix !== secretPrefix) return unchanged({ outcome: 'replaced before' })
      const replaced = await replaceSecret(tx, { endpointId: endpoint.id, ring })
      return replaced.outcome === 'replaced'
        ? changed(replaced, { subjects: [endpoint.id] })
        : unchanged({ outcome: 'replaced before' })
    },
  )
  if (result.outcome === 'replaced') await untilNothingStarts(context.clock(), context.clock())
  return result
}

/** Sends an event once more. */
export function resendOwn(
  context: ActionContext,
  { eventId, ...own }: OwnEndpoint & { eventId: string },
): Promise<{ outcome: Resent }> {
  return audited(context, 'webhooks.resent', async (tx, at) => {
    if ((await findOwn(tx, own)) === undefined) return unchanged(missing)
    const outcome = await resendEvent(tx, { endpointId: own.endpointId, eventId, at })
    return outcome === 'queued'
      ? changed({ outcome }, { subjects: [own.endpointId], details: { eventId } })
      : unchanged({ outcome })
  })
}

/** Creates an endpoint, once for each Idempotency-Key. */
export function createOwn(
  context: ActionContext,
  rules: CreationRules,
  input: Omit<CreationInput, 'now'>,
): Promise<Creation> {
  return audited(context, 'webhooks.created', async (tx, now) => {
    const creation = await createEndpoint(tx, rules, { ...input, now })
    return creation.outcome === 'created'
      ? changed(creation, { subjects: [creation.endpoint.id] })
      : unchanged(creation)
  })
}
