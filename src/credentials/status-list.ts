/**
 * Pure: a W3C Bitstring Status List. Each publication is built from the revoked indexes and signed;
 * a published list is never decoded and changed.
 */
import { gzipSync } from 'node:zlib'
import { wireTime } from '../platform/clock.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { type Origin, w3cContext } from './payload.ts'
import { makeProof, type Proof, type ProofForm, proofForms, type SignedDocument } from './proof.ts'
import { statusListShape } from './rdf.ts'
import type { Signer } from './signing-key.ts'

/**
 * Entries of one list: the minimum of the standard, 16 KiB of bits. A large list hides which
 * credential a verifier asks about.
 */
export const listLength = 131_072
/**
 * A list with this many credentials accepts no more. At this fill, a free random index takes 4
 * tries, and 1.85 tries on average over the life of the list.
 */
export const listFillMax = 98_304
export const openListsWanted = 4
/** Ten random base32 characters. */
export const listIdPattern = /^[a-z2-7]{10}$/

/** Lists are signed again before a quarter of their validity has passed. */
export const listValiditySeconds = 86_400
export const listRefreshSeconds = 21_600
/** Time for which a verifier may keep a fetched list. */
export const listTtlSeconds = 60
/** A closed list stays published for this time after its last credential expires. */
export const listAfterlifeDays = 90

/**
 * Returns the bits of a list whose revoked entries are `indexes`. Index 0 is the left-most bit (W3C
 * Bitstring Status List, 3.2).
 */
export function bitsOf(indexes: Iterable<number>): Uint8Array {
  const bits = new Uint8Array(listLength / 8)
  for (const index of indexes) {
    const byte = index >> 3
    bits[byte] = (bits[byte] as number) | (0x80 >> (index & 7))
  }
  return bits
}

export interface StatusListPayload extends Record<string, unknown> {
  id: string
  validFrom: string
  validUntil: string
}

/**
 * Level 9 takes up to 29 times as long as level 6 and saves a tenth. A list compresses to a few
 * KiB: with the default chunk of 16 KiB, each list would leave most of a chunk as garbage.
 */
const gzipOptions = { level: 6, chunkSize: 4_096 }

/** Returns the list without its proof. */
export function statusListPayload(
  origin: Origin,
  facts: { listId: string; bits: Uint8Array; publishedAt: Date },
): StatusListPayload {
  const id = `${origin.statusListUrlPrefix}${facts.listId}`
  const validUntil = new Date(facts.publishedAt.getTime() + listValiditySeconds * 1_000)
  return {
    '@context': [w3cContext],
    id,
    type: ['VerifiableCredential', 'BitstringStatusListCredential'],
    issuer: origin.issuer,
    validFrom: wireTime(facts.publishedAt),
    validUntil: wireTime(validUntil),
    credentialSubject: {
      id: `${id}#list`,
      type: 'BitstringStatusList',
      statusPurpose: 'revocation',
      encodedList: `u${gzipSync(facts.bits, gzipOptions).toString('base64url')}`,
      // In milliseconds, unlike every other duration here (W3C Bitstring Status List, 2.2).
      ttl: listTtlSeconds * 1_000,
    },
  }
}

/** Returns one proof of each form for the same list. A request selects one. */
export function statusListProofs(
  payload: StatusListPayload,
  origin: Origin,
  signer: Signer,
): Record<ProofForm, Proof> {
  const signed: SignedDocument = {
    document: payload,
    shape: statusListShape,
    jcsSha256: sha256(canonicalJson(payload)),
  }
  const proof = (form: ProofForm): Proof =>
    makeProof(
      signed,
      {
        form,
        created: payload.validFrom,
        verificationMethod: `${origin.issuer}#${signer.kid}`,
        // The list names only the W3C context, so that any verifier can check the W3C forms.
        nativeContext: origin.contextUrl,
      },
      signer,
    )
  return Object.fromEntries(proofForms.map((form) => [form, proof(form)])) as Record<
    ProofForm,
    Proof
  >
}
