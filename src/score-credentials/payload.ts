/**
 * Pure: the payload of a score credential, the document without its proof, and everything that is read off it.
 * `vcSha256` is the SHA-256 of its canonical JSON, the same for every form of the proof.
 */

import { wireTime } from '../platform/clock.ts'
import { credentialType, wellKnownPath } from '../platform/http/identifiers.ts'
import { credentialShape, type NodeShape } from './rdf.ts'

/** Where a deployment lives: every absolute URL and the issuer follow from it (decisions D3, D30). */
export interface Origin {
  /** Without a trailing slash, e.g. `https://scores.example.org`. */
  url: string
  /** `did:web:scores.example.org`; a port is percent-encoded. */
  issuer: string
  contextUrl: string
  statusUrlPrefix: string
  statusListUrlPrefix: string
  /** How a credential of this origin is written as RDF. */
  shape: NodeShape
}

export const statusPath = '/standard/v1/score-vc-status/'
export const statusListPath = '/standard/v1/status-lists/score-vc-revocation/'

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

/** What a credential states of a person. Never a worker id, an address, evidence or raw signals. */
export interface Score {
  /** Public handle; the subject is the public profile, so that a verifier can tell whose score it is. */
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

/** The bytes that are signed hold integers, ASCII text and times in UTC without a fraction, nothing else. */
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
