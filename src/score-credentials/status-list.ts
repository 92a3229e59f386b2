/**
 * Pure: a W3C Bitstring Status List, built from bits and signed; never decoded and patched.
 */
import { gzipSync } from 'node:zlib'
import { wireTime } from '../platform/clock.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { type Origin, w3cContext } from './payload.ts'
import { makeProof, type Proof, type ProofForm, proofForms, type SignedDocument } from './proof.ts'
import { statusListShape } from './rdf.ts'
import type { Signer } from './signing-key.ts'

/** Entries of one list: the least the standard allows, 16 KiB of bits, so that a verifier's fetch hides which credential it asks about. */
export const listLength = 131_072
/** A list takes no more credentials at this fill: a random free index then costs 1.85 tries on average. */
export const listFillMax = 98_304
export const openListsWanted = 4
/** Ten random base32 characters. */
export const listIdPattern = /^[a-z2-7]{10}$/

/** Lists are signed anew before they are a quarter through their life. */
export const listValiditySeconds = 86_400
export const listRefreshSeconds = 21_600
/** How long a verifier may keep a fetched list. */
export const listTtlSeconds = 60
/** A list is published until this long after its last credential expired. */
export const listAfterlifeDays = 90

/** `indexes` are the revoked entries. Index 0 is the left-most bit (Bitstring Status List §3.2). */
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
 * Level 9 costs up to 29 times the time of level 6 for a tenth less. A list is a few KiB long: chunks of the usual 16 KiB would be
 * left behind as garbage, one for each list.
 */
const gzipOptions = { level: 6, chunkSize: 4_096 }

/** The list without its proof. */
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
      // In milliseconds, unlike every other time (Bitstring Status List §2.2).
      ttl: listTtlSeconds * 1_000,
    },
  }
}

/** One proof of each form over the same list: a request picks one. */
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
        // The list itself names the W3C context alone, so that any verifier can check the W3C forms.
        nativeContext: origin.contextUrl,
      },
      signer,
    )
  return Object.fromEntries(proofForms.map((form) => [form, proof(form)])) as Record<
    ProofForm,
    Proof
  >
}
