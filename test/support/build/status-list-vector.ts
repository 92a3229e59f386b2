/**
 * Makes `vectors/status-list.json`: a list with known revocations, signed in all three proof forms
 * with the key of the credential vector.
 */
import { writeFileSync } from 'node:fs'
import { proofForms } from '../../../src/credentials/proof.ts'
import {
  bitsOf,
  listLength,
  statusListPayload,
  statusListProofs,
} from '../../../src/credentials/status-list.ts'
import { vcSha256Of } from '../../../src/credentials/trust.ts'
import { origin, signer, vector } from './credentials.ts'

/**
 * The first and the last index, both sides of a byte boundary, and the index of the credential
 * vector.
 */
const revokedIndexes = [0, 7, 8, 65_535, 94_567, 131_071]

export function statusListVector(): Record<string, unknown> {
  const publishedAt = new Date('2026-06-01T10:00:00Z')
  const bits = bitsOf(revokedIndexes)
  const payload = statusListPayload(origin, { listId: '2026-0007', bits, publishedAt })
  const proofs = statusListProofs(payload, origin, signer)
  return {
    description:
      'Revocation list test vector (W3C Bitstring Status List), signed with the key of score-credential.json, whose credential it revokes. GZIP output may differ between implementations: build your own list freely, but read this one to exactly these indexes.',
    key: vector.key,
    listLength,
    revokedIndexes,
    payloadSha256: vcSha256Of(payload).toString('hex'),
    credentials: Object.fromEntries(
      proofForms.map((form) => [form, { ...payload, proof: proofs[form] }]),
    ),
  }
}

export const statusListVectorFile = 'vectors/status-list.json'

/** `node test/support/build/status-list-vector.ts` writes the file. */
if (import.meta.main)
  writeFileSync(statusListVectorFile, `${JSON.stringify(statusListVector(), null, 1)}\n`)
