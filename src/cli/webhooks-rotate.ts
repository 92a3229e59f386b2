/** `assay webhooks rotate`: a new secret, shown once, announced before it signs. */
import type { Config } from '../config.ts'
import { wireTime } from '../platform/clock.ts'
import { openSecretsKeyring } from '../secrets-keyring.ts'
import { announcedHoursMax, rotateSecret } from '../webhooks/rotate-secret.ts'
import type { Outcome } from './output.ts'
import { CommandError, UsageError } from './run.ts'
import { changeEndpoint, refusalOf } from './webhook-endpoint.ts'

export async function rotateSecretCommand(
  config: Config,
  endpoint: string,
  flags: { hours: string },
): Promise<Outcome> {
  const announcedHours = /^\d{1,3}$/.test(flags.hours) ? Number(flags.hours) : -1
  if (announcedHours < 0 || announcedHours > announcedHoursMax)
    throw new UsageError(`--hours is a number from 0 to ${announcedHoursMax}.`)
  const ring = await openSecretsKeyring(config)
  if (ring === null) throw new CommandError('There is no key ring: set SECRETS_KEYRING.')
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
