/** Builders for tests and benchmarks of score credentials: the published vector, its key and origin, and a registry in memory. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { canonicalJson } from '../../../src/platform/json/canonical-json.ts'
import { parseStrictJson } from '../../../src/platform/json/strict-json.ts'
import { type Origin, originOf, type Score } from '../../../src/score-credentials/payload.ts'
import { makeProof, type ProofForm } from '../../../src/score-credentials/proof.ts'
import type { VerifyResult } from '../../../src/score-credentials/schema.ts'
import { signatureCache } from '../../../src/score-credentials/signature-cache.ts'
import {
  publicKeyOfKid,
  type Signer,
  signerOfPem,
} from '../../../src/score-credentials/signing-key.ts'
import {
  type SigningKey,
  type Trust,
  trustOf,
  vcSha256Of,
} from '../../../src/score-credentials/trust.ts'
import {
  type RegisteredStatus,
  type StatusQuestion,
  verifyCredential,
} from '../../../src/score-credentials/verify.ts'

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
/** A moment at which the vector's credential is valid. */
export const now = new Date('2026-06-01T10:00:00Z')

/** PKCS #8 of an Ed25519 key with this seed. */
export function pemOfSeed(seed: Uint8Array): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return key.export({ format: 'pem', type: 'pkcs8' }).toString()
}

/** The signer whose seed is 32 times `byte`; the vector's is 7. */
export function signerOf(byte: number): Signer {
  const signer = signerOfPem(pemOfSeed(Buffer.alloc(32, byte)))
  if (signer === null) throw new Error('a private key gives a signer')
  return signer
}

export const signer = signerOf(7)

/** A row of the key table: active since 2026, unless told otherwise. */
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

/** A score as the registry of people would hand it over. */
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

/** `payload` with a genuine proof of ours over it, whatever it says. */
export function sign(
  payload: Json,
  options: { form?: ProofForm; by?: Signer; created?: string; verificationMethod?: string } = {},
): Json {
  const { form = 'native', by = signer, created = '2026-05-14T09:00:00Z' } = options
  const { verificationMethod = `${origin.issuer}#${by.kid}` } = options
  const signed = { document: payload, shape: origin.shape, jcsSha256: vcSha256Of(payload) }
  return { ...payload, proof: makeProof(signed, { form, created, verificationMethod }, by) }
}

/** A deep copy with changed members. */
export function changed(document: Json, change: (copy: Json) => void): Json {
  const copy = structuredClone(document)
  change(copy)
  return copy
}

/** A nested object of a document. */
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

/** A registry in memory, asked as the database is: by token where there is one, else by digest. */
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

/** The verdict on a body as it arrives over HTTP: bytes first, the strict JSON gate included. */
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

/** The same JSON value, whatever the order and spelling of its text. */
export function sameValue(a: string, b: string): boolean {
  return canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b))
}
