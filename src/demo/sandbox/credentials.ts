/**
 * Credentials of fictional candidates. Their private key is public: a signature with it proves
 * nothing, and no verifier that pins its issuer accepts it.
 */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { type IssuedCredential, signCredential } from '../../credentials/issue.ts'
import type { Origin, Score } from '../../credentials/payload.ts'
import type { Signers } from '../../credentials/signers.ts'
import { kidOf, rawPublicKey, type Signer } from '../../credentials/signing-key.ts'
import { sha256, sha256Hex } from '../../platform/crypto/bytes.ts'

export const sandboxListId = 'sandbox000'
export const sandboxIssuedAt = new Date('2026-05-14T09:00:00Z')
/** The ASN.1 of an Ed25519 private key, up to its 32 bytes (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Returns the credential at list index `index`. The same arguments always give the same bytes. */
export function sandboxCredential(origin: Origin, score: Score, index: number): IssuedCredential {
  const slot = {
    token: sha256Hex(`sandbox status ${score.username}`),
    listId: sandboxListId,
    index,
  }
  const id = uuidOf(sha256(`sandbox credential ${score.username}`))
  const { issued } = signCredential(
    { origin, signer: sandboxSigner(), validityDays: 36_500, supersedeRevokes: false },
    { ...score, id, issuedAt: sandboxIssuedAt },
    slot,
  )
  return issued
}

/** Returns the sandbox key for every kid. */
export const sandboxSigners: Signers = { of: async () => sandboxSigner() }

export function sandboxSigner(): Signer {
  const seed = sha256('sandbox: this key is public and proves nothing')
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  return {
    kid: kidOf(rawPublicKey(createPublicKey(key))),
    sign: (bytes) => sign(null, bytes, key),
  }
}

/** Builds a UUID of version 8 from the first 16 bytes of the digest (RFC 9562). */
function uuidOf(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16))
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [8, 12, 16, 20, 32].map((end, i, ends) => hex.slice(ends[i - 1] ?? 0, end)).join('-')
}
