/** The operations on signing secrets of webhook endpoints. */
import { Type } from 'typebox'
import { moreField, time } from '../operations/fields.ts'
import { changed, unchanged } from '../operations/operation.ts'
import { counted } from '../platform/counted.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Tx } from '../platform/db/db.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import { openSecret, sealSecret } from './delivery/secret.ts'
import { untilNothingStarts } from './delivery/send.ts'
import {
  activateSecret,
  announcedHoursMax,
  replaceSecret,
  rotateSecret,
} from './endpoints/rotate-secret.ts'
import { lockSecretsOfOtherKeys, updateSealed } from './endpoints/store.ts'
import {
  change,
  changeLine,
  endpointChange,
  endpointId,
  entryOf,
  exampleId,
  openRing,
  signingSecret,
} from './operation-parts.ts'

export const webhooksRotateSecret = change({
  name: 'webhooks rotate-secret',
  http: 'POST /webhooks/{endpointId}/rotate-secret',
  summary: 'Announce a new secret of an endpoint; it is shown once',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  input: {
    hours: Type.Integer({
      minimum: 0,
      maximum: announcedHoursMax,
      default: 24,
      description: 'hours until the new secret signs in place of the old one; 0: at once',
    }),
  },
  output: closedObject({
    endpointId: Type.String(),
    signingSecret,
    signsFrom: time,
  }),
  refusals: [
    'webhooks_not_configured',
    'webhook_endpoint_not_found',
    'webhook_endpoint_disabled',
    'webhook_secret_rotating',
  ],
  example: { endpointId: exampleId, hours: 48 },
  audit: 'webhooks.rotated',
  renderLines: ({ signingSecret: secret, signsFrom }, { hours }) => [
    `The new secret, shown once: ${secret}`,
    hours === 0
      ? 'It signs from now on. For a day, the old one signs a header beside it.'
      : `It signs from ${signsFrom} on. Until then, it signs a header beside that of the old one.`,
  ],
  async run(tx, { endpointId: id, hours }, { owner, now, services }) {
    const ring = await openRing(services)
    if ('refusal' in ring) return ring
    const rotation = { endpointId: id, owner, ring, at: now, announcedHours: hours }
    const rotated = await rotateSecret(tx, rotation)
    if ('refusal' in rotated) return rotated
    const { endpoint, secret, signsFrom } = rotated
    const output = { endpointId: id, signingSecret: secret, signsFrom }
    return changed(output, entryOf(endpoint))
  },
})

export const webhooksReplaceSecret = change({
  name: 'webhooks replace-secret',
  http: 'POST /webhooks/{endpointId}/replace-secret',
  summary: 'Replace a leaked secret of an endpoint at once; the new one is shown once',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  input: {
    secretPrefix: Type.Optional(
      Type.String({
        pattern: '^whsec_[A-Za-z0-9_-]{12}$',
        description: 'must be the `secretPrefix` of the endpoint, 18 characters',
        'x-help': 'replace only the secret that begins so',
      }),
    ),
  },
  output: closedObject({ endpointId: Type.String(), signingSecret }),
  refusals: ['webhooks_not_configured', 'webhook_endpoint_not_found', 'webhook_secret_changed'],
  example: { endpointId: exampleId },
  audit: 'webhooks.secret_replaced',
  danger:
    'The older secrets sign nothing any more: the receiver rejects deliveries until it has the new one.',
  renderLines: ({ signingSecret: secret }) => [
    `The new secret, shown once: ${secret}`,
    'It signs from now on. The older secrets of the endpoint sign nothing any more.',
  ],
  async run(tx, { endpointId: id, secretPrefix }, { owner, now, services }) {
    const ring = await openRing(services)
    if ('refusal' in ring) return ring
    const replaced = await replaceSecret(tx, { endpointId: id, owner, ring, secretPrefix, now })
    if ('refusal' in replaced) return replaced
    const { endpoint, secret } = replaced
    return changed({ endpointId: id, signingSecret: secret }, entryOf(endpoint), {
      after: () => untilNothingStarts(now, now),
    })
  },
})

export const webhooksActivateSecret = change({
  name: 'webhooks activate-secret',
  http: 'POST /webhooks/{endpointId}/activate-secret',
  summary: 'Let the announced secret of an endpoint sign from now on',
  who: { operator: 'support', member: 'member' },
  path: { endpointId },
  output: endpointChange,
  refusals: ['webhook_endpoint_not_found', 'webhook_secret_not_announced'],
  example: { endpointId: exampleId },
  audit: 'webhooks.secret_activated',
  renderLines: changeLine('signs with its announced secret now'),
  async run(tx, { endpointId: id }, { owner, now }) {
    const endpoint = await activateSecret(tx, { endpointId: id, owner, at: now })
    if ('refusal' in endpoint) return endpoint
    return changed({ endpointId: id, changed: true }, entryOf(endpoint))
  },
})

const reencryptedMax = 500

const webhooksReencrypt = change({
  name: 'webhooks reencrypt',
  http: 'POST /webhooks/reencrypt',
  summary: 'Encrypt every secret with the first key of SECRETS_KEYRING',
  who: { operator: 'admin' },
  output: closedObject({ kid: Type.String(), reencrypted: Type.Integer(), more: moreField }),
  refusals: ['webhooks_not_configured'],
  audit: 'webhooks.reencrypted',
  renderLines: ({ kid, reencrypted }) => [
    `${counted(reencrypted, 'secret')} encrypted again. All are under ${kid}.`,
  ],
  async run(tx, _, { services }) {
    const ring = await openRing(services)
    if ('refusal' in ring) return ring
    const [kid = ''] = ring.keys()
    const count = await reencryptSecrets(tx, ring, reencryptedMax)
    const output = { kid, reencrypted: count }
    const entry = { subjects: [], details: { count } }
    return count > 0
      ? changed(output, entry, { more: count === reencryptedMax })
      : unchanged(output)
  },
})

export const secretOperations = [
  webhooksRotateSecret,
  webhooksReplaceSecret,
  webhooksActivateSecret,
  webhooksReencrypt,
] as const

/**
 * Reencrypts at most `limit` secrets and returns their number; less than `limit` means that none is
 * left. Throws and changes nothing if a secret cannot be decrypted.
 */
export async function reencryptSecrets(tx: Tx, ring: Keyring, limit: number): Promise<number> {
  const [kid] = ring.keys()
  if (kid === undefined) throw new Error('the key ring is empty')
  const rows = await lockSecretsOfOtherKeys(tx, kid, limit)
  const sealed = rows.map(({ endpointId, version, ...old }) => {
    const secretId = { endpointId, version }
    return { ...secretId, ...sealSecret(openSecret(old, secretId, ring), secretId, ring) }
  })
  if (sealed.length > 0) await updateSealed(tx, sealed)
  return sealed.length
}
