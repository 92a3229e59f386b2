/** Encrypts every secret with the first key of the ring, so that an older key can be removed. */
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Tx } from '../../platform/db/db.ts'
import { openSecret, sealSecret } from '../delivery/secret.ts'
import { lockSecretsOfOtherKeys, updateSealed } from './store.ts'

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
