/**
 * The key that signs the demo's credentials: the active key of the deployment. If the database has
 * no key, the demo creates one and dates it back.
 */
import { findKeys, insertKey } from '../credentials/api.ts'
import { makeKeyFile, readSigners } from '../credentials/key-files.ts'
import { KeyRefused, publicKeyOfKid, type Signer } from '../credentials/signing-key.ts'
import type { Tx } from '../platform/db/db.ts'
import { keyDaysAgo } from './scenario.ts'

export interface DemoKey {
  signer: Signer
  /** The key's activation time: no credential of the demo is dated earlier. */
  since: Date
  /** True if this call created the key. */
  isNew: boolean
}

/**
 * Returns the active key, or creates the first one. The caller holds the lock on the signing keys.
 * Throws `KeyRefused` if a key exists that this process cannot sign with.
 */
export async function ensureDemoKey(tx: Tx, keysFolder: string, now: Date): Promise<DemoKey> {
  const keys = await findKeys(tx)
  const signers = await readSigners(keysFolder)
  const active = keys.find((key) => key.state === 'active')
  if (active !== undefined) {
    const signer = signers.get(active.kid)
    if (signer === undefined)
      throw new KeyRefused(
        `The demo signs with the active key ${active.kid}, and ${keysFolder} does not hold it.`,
      )
    return { signer, since: active.activatedAt ?? now, isNew: false }
  }
  if (keys.some((key) => key.state === 'pending'))
    throw new KeyRefused('No signing key is active, but one is pending: `assay keys rotate`.')
  const signer = (keys.length === 0 && firstOf(signers)) || (await newSigner(keysFolder))
  return { signer, since: await register(tx, signer, now), isNew: true }
}

/** Reuses the key file that an interrupted start or an older database left without a key. */
function firstOf(signers: Map<string, Signer>): Signer | undefined {
  return signers.values().next().value
}

async function newSigner(keysFolder: string): Promise<Signer> {
  const kid = await makeKeyFile(keysFolder)
  const signer = (await readSigners(keysFolder)).get(kid)
  if (signer === undefined) throw new Error(`${keysFolder}: the key ${kid} was removed meanwhile`)
  return signer
}

async function register(tx: Tx, { kid }: Signer, now: Date): Promise<Date> {
  const publicKey = publicKeyOfKid(kid)
  if (publicKey === null) throw new KeyRefused(`${kid} is not an Ed25519 key id`)
  const since = new Date(now.getTime() - keyDaysAgo * 86_400_000)
  const dates = { createdAt: since, activatedAt: since, retiredAt: null, revokedAt: null }
  await insertKey(tx, { kid, publicKey, state: 'active', ...dates })
  return since
}
