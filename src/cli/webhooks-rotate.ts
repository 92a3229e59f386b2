/** `assay webhooks rotate-secret`: announces a new secret, or replaces a leaked one at once; the new one is shown once. */
import { openSecretsKeyring } from '../app/secrets-keyring.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import { untilNothingStarts } from '../webhooks/delivery/start-window.ts'
import {
  announcedHoursMax,
  replaceSecret,
  rotateSecret,
} from '../webhooks/endpoints/rotate-secret.ts'
import { failure, usageError } from './fail.ts'
import type { Outcome } from './output.ts'
import { changeEndpoint, refusalOf } from './webhook-endpoint.ts'

export interface RotateFlags {
  hours?: string
  now?: boolean
  dropOld?: boolean
}

export async function rotateSecretCommand(
  config: Config,
  endpoint: string,
  flags: RotateFlags,
): Promise<Outcome> {
  const announcedHours = parseAnnouncedHours(flags)
  if (flags.dropOld && announcedHours > 0)
    throw usageError('--drop-old needs --now: until the new secret signs, the old one must.')
  const ring = await openSecretsKeyring(config)
  if (ring === null) throw failure('There is no key ring: set SECRETS_KEYRING.')
  return flags.dropOld
    ? replaceNow(config, { endpoint, ring })
    : announce(config, { endpoint, ring, announcedHours })
}

function parseAnnouncedHours({ hours, now }: RotateFlags): number {
  if (now && hours !== undefined) throw usageError('Give --now or --hours, not both.')
  if (now) return 0
  const announcedHours = /^\d{1,3}$/.test(hours ?? '24') ? Number(hours ?? '24') : -1
  if (announcedHours < 0 || announcedHours > announcedHoursMax)
    throw usageError(`--hours is a number from 0 to ${announcedHoursMax}.`)
  return announcedHours
}

interface SecretChange {
  endpoint: string
  ring: Keyring
}

function announce(
  config: Config,
  { endpoint, ring, announcedHours }: SecretChange & { announcedHours: number },
): Promise<Outcome> {
  return changeEndpoint(config, endpoint, async (tx, endpointId, at) => {
    const rotated = await rotateSecret(tx, { endpointId, ring, at, announcedHours })
    if (rotated.outcome !== 'rotated') return refusalOf(rotated.outcome)
    const { secret: signingSecret, signsFrom } = rotated
    return {
      entry: { action: 'webhooks.rotated', subjects: [endpointId], details: {} },
      result: { signingSecret, signsFrom: wireTime(signsFrom) },
      lines: [
        `The new secret, shown once: ${signingSecret}`,
        `It signs from ${wireTime(signsFrom)} on, and until then a header beside the old one's.`,
      ],
    }
  })
}

/** Answers when no delivery that was claimed before the commit can begin with an older secret. */
async function replaceNow(config: Config, { endpoint, ring }: SecretChange): Promise<Outcome> {
  const outcome = await changeEndpoint(config, endpoint, async (tx, endpointId) => {
    const replaced = await replaceSecret(tx, { endpointId, ring })
    if (replaced.outcome !== 'replaced') return refusalOf(replaced.outcome)
    return {
      entry: { action: 'webhooks.secret_replaced', subjects: [endpointId], details: {} },
      result: { signingSecret: replaced.secret },
      lines: [
        `The new secret, shown once: ${replaced.secret}`,
        'It signs from now on. The older secrets of the endpoint sign nothing any more.',
      ],
    }
  })
  const now = systemClock()
  await untilNothingStarts(now, now)
  return outcome
}
