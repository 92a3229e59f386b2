/** Seals every secret under the first key of the ring, so that an older key can leave it. */

import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Tx } from '../../platform/db/db.ts'
import { openSecret, sealSecret } from '../delivery/secret.ts'
import { lockSecretsNotUnder, updateSealed } from './store.ts'

/** At most `limit` secrets; how many: fewer than `limit` when no more are left. Throws where one does not open, and changes nothing. */
export async function reencryptSecrets(tx: Tx, ring: Keyring, limit: number): Promise<number> {
  const [kid] = ring.keys()
  if (kid === undefined) throw new Error('the key ring is empty')
  const rows = await lockSecretsNotUnder(tx, kid, limit)
  const sealed = rows.map(({ endpointId, version, ...old }) => {
    const place = { endpointId, version }
    return { ...place, ...sealSecret(openSecret(old, place, ring), place, ring) }
  })
  if (sealed.length > 0) await updateSealed(tx, sealed)
  return sealed.length
}
