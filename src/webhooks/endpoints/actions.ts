/**
 * The audited verbs on webhook endpoints, for members of an account and for operators. Each finds
 * the endpoint of its owner alone, keeps it locked until the end of the transaction, and writes its
 * audit entry in the same transaction.
 */
import { type ActionContext, audited, changed, unchanged } from '../../audit/action.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import { type DisabledReason, type EndpointOf, lockEndpoint } from '../delivery/endpoint-store.ts'
import { type DeliveryLimits, setLimits } from '../delivery/rate-store.ts'
import {
  type Recovered,
  type Resend,
  type Resent,
  replaySince,
  resendEvent,
} from '../delivery/resend.ts'
import { untilNothingStarts } from '../delivery/start-window.ts'
import {
  type Creation,
  type CreationInput,
  type CreationRules,
  createEndpoint,
  findReplay,
} from './create.ts'
import { disableEndpoint } from './disable.ts'
import { type EnableOutcome, enableEndpoint, pauseEndpoint } from './enable.ts'
import { reencryptSecrets } from './reencrypt.ts'
import {
  activateSecret,
  type Replacement,
  type ReplacementOutcome,
  type RotationOutcome,
  replaceSecret,
  rotateSecret,
} from './rotate-secret.ts'
import type { EndpointRow } from './store.ts'

type Missing = { outcome: 'no such endpoint' }
/** The result for an unknown endpoint and for an endpoint of another owner. */
const missing: Missing = { outcome: 'no such endpoint' }

/** The subject and the account of an audit entry. */
function entryOf({ id, userId }: { id: string; userId: string }) {
  return { subjects: [id], account: userId }
}

/** Creates an endpoint, once for each Idempotency-Key. */
export async function createForAccount(
  context: ActionContext,
  rules: CreationRules,
  input: Omit<CreationInput, 'now'>,
): Promise<Creation> {
  // A repeat of a committed creation needs no lock.
  const replay = await findReplay(context.db, rules, { ...input, now: context.clock() })
  if (replay !== null) return replay
  return audited(context, 'webhooks.created', async (tx, now) => {
    const creation = await createEndpoint(tx, rules, { ...input, now })
    return creation.outcome === 'created'
      ? changed(creation, { subjects: [creation.endpoint.id], account: input.userId })
      : unchanged(creation)
  })
}

export type PauseOutcome = { outcome: 'changed' | 'unchanged' | 'disabled' } | Missing

/** Holds deliveries back, or lets them go. */
export function setDeliveriesPaused(
  context: ActionContext,
  of: EndpointOf,
  isPaused: boolean,
): Promise<PauseOutcome> {
  const action = isPaused ? 'webhooks.paused' : 'webhooks.resumed'
  return audited(context, action, async (tx, now) => {
    const endpoint = await lockEndpoint(tx, of)
    if (endpoint === undefined) return unchanged(missing)
    if (endpoint.disabledAt !== null) return unchanged({ outcome: 'disabled' })
    if ((endpoint.pausedAt !== null) === isPaused) return unchanged({ outcome: 'unchanged' })
    await pauseEndpoint(tx, endpoint.id, isPaused ? now : null)
    return changed({ outcome: 'changed' }, entryOf(endpoint))
  })
}

export type DisableOutcome =
  | { outcome: 'disabled' | 'disabled already'; endpoint: EndpointRow }
  | Missing

/** Disables an endpoint. No delivery starts after this resolves. */
export async function stopDeliveries(
  context: ActionContext,
  of: EndpointOf,
  reason: DisabledReason,
): Promise<DisableOutcome> {
  const result = await disableForAccount(context, of, reason)
  if (result.outcome !== 'no such endpoint') {
    const now = context.clock()
    await untilNothingStarts(result.endpoint.disabledAt ?? now, now)
  }
  return result
}

/** Disables an endpoint. Deliveries that were claimed before the commit may still start. */
export function disableForAccount(
  context: ActionContext,
  of: EndpointOf,
  reason: DisabledReason,
): Promise<DisableOutcome> {
  return audited(context, 'webhooks.disabled', async (tx, now) => {
    const disabled = await disableEndpoint(tx, { ...of, reason, now })
    if (disabled === null) return unchanged(missing)
    const { endpoint } = disabled
    return disabled.changed
      ? changed({ outcome: 'disabled', endpoint }, entryOf(endpoint))
      : unchanged({ outcome: 'disabled already', endpoint })
  })
}

/** Enables an endpoint again, from the next event on. */
export function startDeliveries(
  context: ActionContext,
  of: EndpointOf,
  activeMax: number,
): Promise<{ outcome: EnableOutcome }> {
  return audited(context, 'webhooks.enabled', async (tx, at) => {
    const endpoint = await lockEndpoint(tx, of)
    if (endpoint === undefined) return unchanged(missing)
    const outcome = await enableEndpoint(tx, { endpointId: of.endpointId, activeMax, at })
    return outcome === 'enabled' ? changed({ outcome }, entryOf(endpoint)) : unchanged({ outcome })
  })
}

/** Sets how fast an endpoint is sent to. Returns false if the endpoint does not exist. */
export function limitDeliveries(
  context: ActionContext,
  of: EndpointOf,
  limits: DeliveryLimits,
): Promise<boolean> {
  return audited(context, 'webhooks.limited', async (tx) => {
    const endpoint = await lockEndpoint(tx, of)
    if (endpoint === undefined) return unchanged(false)
    await setLimits(tx, of.endpointId, limits)
    return changed(true, { ...entryOf(endpoint), details: limits })
  })
}

/** Announces a new secret. It signs after `announcedHours`, or once it is activated. */
export function announceSecret(
  context: ActionContext,
  of: EndpointOf,
  rotation: { ring: Keyring; announcedHours?: number },
): Promise<RotationOutcome> {
  return audited(context, 'webhooks.rotated', async (tx, at) => {
    const endpoint = await lockEndpoint(tx, of)
    if (endpoint === undefined) return unchanged(missing)
    const rotated = await rotateSecret(tx, { ...rotation, endpointId: of.endpointId, at })
    return rotated.outcome === 'rotated' ? changed(rotated, entryOf(endpoint)) : unchanged(rotated)
  })
}

/** Lets the announced secret sign now. */
export function activateAnnouncedSecret(
  context: ActionContext,
  of: EndpointOf,
): Promise<{ outcome: 'activated' | 'none announced' } | Missing> {
  return audited(context, 'webhooks.secret_activated', async (tx, at) => {
    const endpoint = await lockEndpoint(tx, of)
    if (endpoint === undefined) return unchanged(missing)
    return (await activateSecret(tx, of.endpointId, at))
      ? changed({ outcome: 'activated' }, entryOf(endpoint))
      : unchanged({ outcome: 'none announced' })
  })
}

/** Replaces a leaked secret: the older ones sign nothing after this resolves. */
export async function replaceLeakedSecret(
  context: ActionContext,
  of: Omit<Replacement, 'now'>,
): Promise<ReplacementOutcome> {
  const result: ReplacementOutcome = await audited(
    context,
    'webhooks.secret_replaced',
    async (tx, now) => {
      const replaced = await replaceSecret(tx, { ...of, now })
      return replaced.outcome === 'replaced'
        ? changed(replaced, entryOf(replaced))
        : unchanged(replaced)
    },
  )
  if (result.outcome === 'replaced') {
    const now = context.clock()
    await untilNothingStarts(now, now)
  }
  return result
}

/** Sends an event once more, and once for each `formValue`. */
export function sendAgain(
  context: ActionContext,
  { eventId, formValue, ...of }: EndpointOf & Pick<Resend, 'eventId' | 'formValue'>,
): Promise<{ outcome: Exclude<Resent, 'queued before'> }> {
  return audited(context, 'webhooks.resent', async (tx, at) => {
    const endpoint = await lockEndpoint(tx, of)
    if (endpoint === undefined) return unchanged(missing)
    const outcome = await resendEvent(tx, { endpointId: of.endpointId, eventId, formValue, at })
    if (outcome === 'queued before') return unchanged({ outcome: 'queued' })
    return outcome === 'queued'
      ? changed({ outcome }, { ...entryOf(endpoint), details: { eventId } })
      : unchanged({ outcome })
  })
}

/** Sends one batch of the events that an endpoint missed since `since`. */
export function sendMissed(
  context: ActionContext,
  of: EndpointOf,
  since: Date,
): Promise<Recovered> {
  return audited(context, 'webhooks.replayed', async (tx, at) => {
    const endpoint = await lockEndpoint(tx, of)
    if (endpoint === undefined) return unchanged(missing)
    const { endpointId } = of
    const replayed = await replaySince(tx, { endpointId, since, at })
    return replayed.outcome === 'queued' && replayed.count > 0
      ? changed(replayed, { ...entryOf(endpoint), details: { count: replayed.count } })
      : unchanged(replayed)
  })
}

const reencryptedMax = 500

/**
 * Encrypts every secret with the first key of the ring, batch by batch. A run that was cut off can
 * be repeated. Returns how many secrets were encrypted.
 */
export async function reencryptAllSecrets(context: ActionContext, ring: Keyring): Promise<number> {
  let total = 0
  for (let count = reencryptedMax; count === reencryptedMax; total += count)
    count = await audited(context, 'webhooks.reencrypted', async (tx) => {
      const done = await reencryptSecrets(tx, ring, reencryptedMax)
      return done > 0 ? changed(done, { subjects: [], details: { count: done } }) : unchanged(0)
    })
  return total
}
