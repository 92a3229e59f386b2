/**
 * Builders for tests and benchmarks of score credentials: the published vector with its key and
 * origin, and a registry in memory.
 */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Origin, originOf, type Score } from '../../../src/credentials/payload.ts'
import { makeProof, type ProofForm } from '../../../src/credentials/proof.ts'
import type { VerifyResult } from '../../../src/credentials/schema.ts'
import { signatureCache } from '../../../src/credentials/signature-cache.ts'
import { publicKeyOfKid, type Signer, signerOfPem } from '../../../src/credentials/signing-key.ts'
import { type SigningKey, type Trust, trustOf, vcSha256Of } from '../../../src/credentials/trust.ts'
import {
  type RegisteredStatus,
  type StatusQuestion,
  verifyCredential,
} from '../../../src/credentials/verify.ts'
import { canonicalJson } from '../../../src/platform/json/canonical-json.ts'
import { parseStrictJson } from '../../../src/platform/json/strict-json.ts'

export type Json = Record<string, unknown>

interface Vector {
  key: { ed25519SeedHex: string; publicKeyBase64url: string; publicKeyMultibase: string } & Json
  context: { url: string; credentialTerms: Json }
  payload: Json
  canonicalPayload: string
  vcSha256: string
  native: { canonicalProofOptions: string; proofOptionsSha256: string; credential: Json }
  eddsaJcs2022: { canonicalProofOptions: string; proofOptionsSha256: string; credential: Json }
  eddsaRdfc2022: {
    proofOptionsNQuads: string
    proofOptionsSha256: string
    payloadNQuads: string
    payloadNQuadsSha256: string
    credential: Json
  }
}

export const vector: Vector = JSON.parse(readFileSync('vectors/score-credential.json', 'utf8'))

export const vectorCredentials: Record<ProofForm, Json> = {
  native: vector.native.credential,
  'eddsa-jcs-2022': vector.eddsaJcs2022.credential,
  'eddsa-rdfc-2022': vector.eddsaRdfc2022.credential,
}

export const publicUrl = 'https://scores.example.org'
export const origin: Origin = originOf(publicUrl)
export const issuedAt = new Date('2026-05-14T09:00:00Z')
/** A time at which the vector's credential is valid. */
export const now = new Date('2026-06-01T10:00:00Z')

/** Returns the PKCS #8 PEM of the Ed25519 key with this seed. */
export function pemOfSeed(seed: Uint8Array): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return key.export({ format: 'pem', type: 'pkcs8' }).toString()
}

/**
 * Returns the signer whose seed is the byte `byte`, 32 times. The vector's signer has the byte 7.
 */
export function signerOf(byte: number): Signer {
  const signer = signerOfPem(pemOfSeed(Buffer.alloc(32, byte)))
  if (signer === null) throw new Error('a private key gives a signer')
  return signer
}

export const signer = signerOf(7)

/** Returns a row of the key table. By default the key is active since 2026-01-01. */
export function keyRow(of: Signer, over: Partial<SigningKey> = {}): SigningKey {
  const since = new Date('2026-01-01T00:00:00Z')
  return {
    kid: of.kid,
    publicKey: publicKeyOfKid(of.kid) ?? Buffer.of(),
    state: 'active',
    createdAt: since,
    activatedAt: since,
    retiredAt: null,
    revokedAt: null,
    ...over,
  }
}

export const trust: Trust = trustOf([publicUrl], [keyRow(signer)])

/** Returns a score in the form that the issuer of credentials takes. */
export function score(over: Partial<Score> = {}): Score {
  return {
    username: 'ada-lovelace',
    score: 742,
    scoreBand: 'strong',
    confidenceLow: 701,
    confidenceHigh: 778,
    evidenceCount: 18,
    engineVersion: '1.4.2',
    engineBinarySha256: '51a1f05af85e342e3c849b47d387086476282d5f50dc240c19216d6edfb1eb5a',
    ...over,
  }
}

/** Signs `payload` with a genuine proof of ours. The payload is not validated. */
export function sign(
  payload: Json,
  options: { form?: ProofForm; by?: Signer; created?: string; verificationMethod?: string } = {},
): Json {
  const { form = 'native', by = signer, created = '2026-05-14T09:00:00Z' } = options
  const { verificationMethod = `${origin.issuer}#${by.kid}` } = options
  const signed = { document: payload, shape: origin.shape, jcsSha256: vcSha256Of(payload) }
  return { ...payload, proof: makeProof(signed, { form, created, verificationMethod }, by) }
}

/** Returns a deep copy after `change` has modified it. */
export function changed(document: Json, change: (copy: Json) => void): Json {
  const copy = structuredClone(document)
  change(copy)
  return copy
}

/** Returns a nested object of a document. */
export function inside(document: Json, name: string): Json {
  return document[name] as Json
}

export function registered(
  payload: Json,
  over: Partial<Extract<RegisteredStatus, { kind: 'registered' }>> = {},
): RegisteredStatus {
  const unmarked = { revokedAt: null, supersededAt: null, keyRevokedAt: null }
  return { kind: 'registered', vcSha256: vcSha256Of(payload), ...unmarked, ...over }
}

/**
 * Returns a registry in memory with the same lookup as the database: by token if the question has
 * one, otherwise by digest.
 */
export function registryOf(...payloads: Json[]): (question: StatusQuestion) => RegisteredStatus {
  const rows = new Map<string, RegisteredStatus>()
  for (const payload of payloads) {
    const status = payload.credentialStatus as Json | undefined
    if (typeof status?.id === 'string')
      rows.set(status.id.slice(origin.statusUrlPrefix.length), registered(payload))
    rows.set(vcSha256Of(payload).toString('hex'), registered(payload))
  }
  return ({ token, vcSha256 }) =>
    rows.get((token ?? vcSha256).toString('hex')) ?? { kind: 'unknown' }
}

export interface Circumstances {
  registry?: (question: StatusQuestion) => RegisteredStatus
  trust?: Trust
  now?: Date
}

/**
 * Returns the verdict on a body as it arrives over HTTP: from the bytes, through the strict JSON
 * parser.
 */
export async function verdictOn(
  body: Json | string,
  circumstances: Circumstances = {},
): Promise<VerifyResult> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const parsed = parseStrictJson(Buffer.from(text))
  if (parsed.kind === 'invalid') throw new Error(parsed.why)
  const { registry = registryOf(vector.payload) } = circumstances
  return verifyCredential(parsed.value as Json, parsed.kind === 'ambiguous' ? parsed.why : null, {
    trust: circumstances.trust ?? trust,
    now: circumstances.now ?? now,
    signatures: signatureCache(),
    statusOf: async (question) => registry(question),
  })
}

/** Tells whether two texts hold the same JSON value. Key order and escapes do not matter. */
export function sameValue(a: string, b: string): boolean {
  return canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b))
}
