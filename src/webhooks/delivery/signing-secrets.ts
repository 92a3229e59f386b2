/** Pure: which secret of an endpoint signs what, from its rows and the time. */

import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { SigningSecrets } from './attempt-request.ts'
import { openSecret, type SealedSecret } from './secret.ts'

export interface DatedSecret extends SealedSecret {
  endpointId: string
  version: number
  signsFrom: Date
}

/** `rows` of one endpoint, none of which has ended, oldest first. Null where none signs. Throws where one cannot be opened. */
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
