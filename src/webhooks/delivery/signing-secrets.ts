/** Pure: the roles of an endpoint's secrets at one time. */
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { SigningSecrets } from './attempt-request.ts'
import { openSecret, type SealedSecret } from './secret.ts'

export interface DatedSecret extends SealedSecret {
  endpointId: string
  version: number
  signsFrom: Date
}

/**
 * Returns the roles, or null if no secret signs. `rows` are the secrets of one endpoint that have
 * not ended, oldest first. Throws if one cannot be opened.
 */
export function signingSecrets(
  rows: readonly DatedSecret[],
  ring: Keyring,
  now: Date,
): SigningSecrets | null {
  const begun = rows.filter((row) => row.signsFrom <= now)
  const current = begun.at(-1)
  if (current === undefined) return null
  const next = rows.find((row) => row.signsFrom > now)
  const previous = begun.at(-2)
  const open = (row: DatedSecret): string => openSecret(row, row, ring)
  return {
    current: open(current),
    ...(next && { next: open(next) }),
    ...(previous && { previous: open(previous) }),
  }
}
