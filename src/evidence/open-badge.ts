/**
 * Pure: an Open Badge 3.0 as evidence. It is believed if it is of the issuer whose keys the operator registered with the source, signed by
 * one of them, valid today, and of an achievement that the operator has mapped to a skill. Nothing that it names is fetched.
 */

import { instantOf } from '../platform/instant.ts'
import { isJsonObject } from '../platform/json/json-object.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { badgeProofFault } from './badge-proof.ts'
import type { Achievement } from './schema.ts'

/** Whose badges a source sends. */
export interface BadgeSigner {
  /** Null where the source has none: then no badge of it can be checked. */
  issuer: string | null
  /** `z6Mk…`. */
  publicKeys: readonly string[]
}

/** What the operator says of the sender and of its badges. */
export interface BadgeTrust extends BadgeSigner {
  /** By the achievement's id. */
  achievements: ReadonlyMap<string, Achievement>
  /** A status list is not looked up: true where the operator has done so. */
  acceptsUncheckedStatus: boolean
  now: Date
}

export interface BadgeFacts extends Achievement {
  externalId: string
  observedOn: string
  expiresOn?: string
  /** SHA-256 of the canonical JSON without the proof: one badge counts once, whoever sends it. */
  digest: string
}

type Json = Record<string, unknown>

export function readBadge(credential: Json, trust: BadgeTrust): BadgeFacts | Fault {
  const { id, credentialStatus } = credential
  const shapeFault = faultOfShape(credential)
  if (shapeFault !== null) return shapeFault
  if (trust.issuer === null)
    return { field: 'sourceId', reason: 'is of a source that is registered without an issuer' }
  if (idOf(credential.issuer) !== trust.issuer)
    return fault('issuer', 'is not the issuer that the source is registered with')
  const validity = validityOf(credential, trust.now)
  if ('reason' in validity) return validity
  const proven = badgeProofFault(credential, trust)
  if ('reason' in proven) return { ...proven, field: `credential.${proven.field}` }
  if (credentialStatus !== undefined && !trust.acceptsUncheckedStatus)
    return fault('credentialStatus', 'names a status, and a status is not looked up here')
  const achievement = trust.achievements.get(achievementOf(credential) ?? '')
  if (achievement === undefined)
    return fault('credentialSubject.achievement.id', 'is no achievement that is mapped to a skill')
  return { ...achievement, externalId: String(id), ...validity, digest: proven.sha256 }
}

const context = 'https://www.w3.org/ns/credentials/v2'
const badgeContext = /^https:\/\/purl\.imsglobal\.org\/spec\/ob\/v3p0\/context-3\.0\.\d+\.json$/
const oneLine = /^[^\p{Cc}\u2028-\u202e\u2066-\u2069]{1,200}$/u

function faultOfShape(credential: Json): Fault | null {
  const types = listOf(credential.type)
  const isBadge = types.includes('OpenBadgeCredential') || types.includes('AchievementCredential')
  if (!types.includes('VerifiableCredential') || !isBadge)
    return fault('type', 'must name VerifiableCredential and OpenBadgeCredential')
  const contexts = listOf(credential['@context'])
  const namesBadges = contexts.some((one) => typeof one === 'string' && badgeContext.test(one))
  if (contexts[0] !== context || !namesBadges)
    return fault('@context', `must begin with ${context} and name that of Open Badges 3.0`)
  if (typeof credential.id !== 'string' || !oneLine.test(credential.id))
    return fault(
      'id',
      'must be one line of text, at most 200 characters, none of which reorders it',
    )
  return achievementOf(credential) === null
    ? fault('credentialSubject.achievement.id', 'is missing')
    : null
}

const dayMs = 86_400_000
const calendarEndsAt = Date.UTC(10_000, 0, 1)

/** In whole days, as evidence is kept: it counts to the end of the last day of which any part is valid. */
function validityOf({ validFrom, validUntil }: Json, now: Date) {
  const from = typeof validFrom === 'string' ? instantOf(validFrom) : null
  if (from === null) return fault('validFrom', 'must be a date-time with a zone')
  if (from > now) return fault('validFrom', 'is in the future: it is not valid yet')
  const observedOn = dateOf(from.getTime())
  if (validUntil === undefined) return { observedOn }
  const until = typeof validUntil === 'string' ? instantOf(validUntil) : null
  if (until === null) return fault('validUntil', 'must be a date-time with a zone')
  if (until <= now) return fault('validUntil', 'is past: it has expired')
  const endsAt = until.getTime() - 1 + dayMs
  // Who writes a moment of the calendar's last day means no end: there is no day after it on which it counts no more.
  return endsAt >= calendarEndsAt ? { observedOn } : { observedOn, expiresOn: dateOf(endsAt) }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function achievementOf({ credentialSubject: subject }: Json): string | null {
  return isJsonObject(subject) ? idOf(subject.achievement) : null
}

/** Of a node that may stand for itself or by its id alone. */
function idOf(node: unknown): string | null {
  const id = isJsonObject(node) ? node.id : node
  return typeof id === 'string' ? id : null
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value]
}

function fault(field: string, reason: string): Fault {
  return { field: `credential.${field}`, reason }
}
