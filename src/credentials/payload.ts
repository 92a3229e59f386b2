/**
 * Pure: the payload of a score credential (the document without its proof) and the addresses in it.
 * `vcSha256` is the SHA-256 of its canonical JSON and does not depend on the form of the proof.
 */
import { credentialType, wellKnownPath } from '../edge/http/identifiers.ts'
import { wireTime } from '../platform/clock.ts'
import { credentialShape, type NodeShape } from './rdf.ts'
import { statusListPath, statusPath } from './schema.ts'

/**
 * The public origin of a deployment. Every absolute URL and the issuer are derived from it
 * (decisions D3, D30).
 */
export interface Origin {
  /** Without a trailing slash, e.g. `https://scores.example.org`. */
  url: string
  /** `did:web:scores.example.org`. A port is percent-encoded. */
  issuer: string
  contextUrl: string
  statusUrlPrefix: string
  statusListUrlPrefix: string
  /** Maps a credential of this origin to RDF. */
  shape: NodeShape
}

export function originOf(publicUrl: string): Origin {
  const { origin, host } = new URL(publicUrl)
  return {
    url: origin,
    issuer: `did:web:${host.replace(':', '%3A')}`,
    contextUrl: `${origin}/standard/v1/context.jsonld`,
    statusUrlPrefix: `${origin}${statusPath}`,
    statusListUrlPrefix: `${origin}${statusListPath}`,
    shape: credentialShape(`${origin}/standard/v1/vocab#`),
  }
}

/**
 * The claims of a credential about its subject. They never include a worker id, an email address,
 * evidence or raw signals.
 */
export interface Score {
  /**
   * Public handle. The subject is the URL of the public profile, so a verifier can tell whose score
   * it is.
   */
  username: string
  score: number
  scoreBand: string
  confidenceLow: number
  confidenceHigh: number
  evidenceCount: number
  engineVersion: string
  /** 64 lowercase hex characters. */
  engineBinarySha256: string
}

export interface StatusSlot {
  /** 64 lowercase hex characters, 256 random bits. */
  token: string
  listId: string
  index: number
}

export interface Payload {
  '@context': readonly [string, string]
  id: string
  type: readonly ['VerifiableCredential', typeof credentialType]
  issuer: string
  issuanceDate: string
  validFrom: string
  validUntil: string
  credentialSubject: Record<string, string | number>
  credentialStatus: Record<string, string>
}

export const w3cContext = 'https://www.w3.org/ns/credentials/v2'

export function subjectUrl(origin: Origin, username: string): string {
  return `${origin.url}/u/${username}`
}

/**
 * Returns the payload to sign. It holds only integers, ASCII text and UTC times without a fraction.
 */
export function credentialPayload(
  origin: Origin,
  score: Score,
  facts: { id: string; slot: StatusSlot; validFrom: Date; validUntil: Date },
): Payload {
  const validFrom = wireTime(facts.validFrom)
  return {
    '@context': [w3cContext, origin.contextUrl],
    id: `urn:uuid:${facts.id}`,
    type: ['VerifiableCredential', credentialType],
    issuer: origin.issuer,
    issuanceDate: validFrom,
    validFrom,
    validUntil: wireTime(facts.validUntil),
    credentialSubject: {
      id: subjectUrl(origin, score.username),
      type: 'ScoredProfile',
      score: score.score,
      scoreBand: score.scoreBand,
      confidenceLow: score.confidenceLow,
      confidenceHigh: score.confidenceHigh,
      evidenceCount: score.evidenceCount,
      engineId: `${origin.url}${wellKnownPath('engine')}`,
      engineVersion: score.engineVersion,
      engineBinarySha256: score.engineBinarySha256,
    },
    credentialStatus: {
      id: `${origin.statusUrlPrefix}${facts.slot.token}`,
      type: 'BitstringStatusListEntry',
      statusPurpose: 'revocation',
      statusListIndex: String(facts.slot.index),
      statusListCredential: `${origin.statusListUrlPrefix}${facts.slot.listId}`,
    },
  }
}
