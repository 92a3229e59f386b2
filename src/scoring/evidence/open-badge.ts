/**
 * Pure: an Open Badge 3.0 as evidence. A badge is accepted if all of this holds: its issuer is
 * registered with the source, one of the source's keys signed it, it is valid now, and the operator
 * has mapped its achievement to a skill. No URL in the badge is fetched.
 *
 * Of proofs only `eddsa-jcs-2022` of the W3C recommendation vc-di-eddsa is supported. It signs
 * SHA-256(JCS(proof without its value)) ‖ SHA-256(JCS(document without proof)) with Ed25519, so it
 * needs neither JSON-LD nor contexts.
 */
import { verify } from 'node:crypto'
import { signatureOf } from '../../credentials/proof.ts'
import { publicKeyOfKid, trustedPublicKey } from '../../credentials/signing-key.ts'
import { instantOf } from '../../platform/clock.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { isJsonObject } from '../../platform/json/closed-object.ts'
import type { Fault } from '../../platform/json/shape-fault.ts'
import type { Achievement } from './schema.ts'

/** Issuer of the badges that a source sends. */
export interface BadgeSigner {
  /** Null if the source has no issuer; then every badge of it is refused. */
  issuer: string | null
  /** Each in the form `z6Mk…`. */
  publicKeys: readonly string[]
}

/** Everything that the operator has decided about the sender and its badges. */
export interface BadgeTrust extends BadgeSigner {
  /** Achievement id to skill, type and value. */
  achievements: ReadonlyMap<string, Achievement>
  /** The service does not look up status lists. True if the operator has checked them. */
  acceptsUncheckedStatus: boolean
  now: Date
}

interface BadgeFacts extends Achievement {
  externalId: string
  observedOn: string
  expiresOn?: string
  /**
   * SHA-256 of the canonical JSON without the proof. A badge counts once, even if several sources
   * send it.
   */
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
  if ('reason' in proven) return proven
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

/**
 * Returns the validity in whole days. The badge counts to the end of the last day on which it is
 * valid at any time.
 */
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
  // An end on the last day of the calendar means no end, because no day follows on which the badge
  // could expire.
  return endsAt >= calendarEndsAt ? { observedOn } : { observedOn, expiresOn: dateOf(endsAt) }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function achievementOf({ credentialSubject: subject }: Json): string | null {
  return isJsonObject(subject) ? idOf(subject.achievement) : null
}

/** Returns the id of a node that may be an object or only its id. */
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

/**
 * Returns the SHA-256 of the document without proof, or the reason for rejecting the proof. Every
 * text of `publicKeys` is a valid Ed25519 key in the form `z6Mk…`.
 */
function badgeProofFault(
  credential: Json,
  { publicKeys, now }: { publicKeys: readonly string[]; now: Date },
): { sha256: string } | Fault {
  const { proof: presented, ...document } = credential
  const chosen = chosenProof(presented)
  if ('reason' in chosen) return chosen
  const { proofValue, ...options } = chosen.proof
  const optionsFault = faultOfOptions(options, { document, now })
  if (optionsFault !== null) return optionsFault
  const keys = keysFor(options.verificationMethod, publicKeys)
  if (keys.length === 0)
    return fault('proof.verificationMethod', 'is a key that the source is not registered with')
  const signature = typeof proofValue === 'string' ? signatureOf(proofValue) : null
  if (signature === null) return fault('proof.proofValue', 'must be base58btc of 64 bytes')
  const digest = sha256(canonicalJson(document))
  const signed = Buffer.concat([sha256(canonicalJson(options)), digest])
  const holds = keys.some((kid) => verify(null, signed, keyOf(kid), signature))
  return holds
    ? { sha256: digest.toString('hex') }
    : fault('proof.proofValue', 'does not hold: the badge was changed, or signed by another key')
}

const proofsMax = 8

/**
 * Selects the proof to verify. Several proofs of one document are independent of each other, so one
 * is enough.
 */
function chosenProof(presented: unknown): { proof: Json } | Fault {
  const proofs = (Array.isArray(presented) ? presented : [presented]).filter(isJsonObject)
  if (proofs.length === 0) return fault('proof', 'is missing')
  if (proofs.length > proofsMax) return fault('proof', `are more than ${proofsMax}`)
  const isOf = (suite: string) => (proof: Json) =>
    proof.type === 'DataIntegrityProof' && proof.cryptosuite === suite
  const jcs = proofs.find(isOf('eddsa-jcs-2022'))
  if (jcs !== undefined) return { proof: jcs }
  return proofs.some(isOf('eddsa-rdfc-2022'))
    ? fault('proof.cryptosuite', 'eddsa-rdfc-2022 is not checked here: ask for eddsa-jcs-2022')
    : fault('proof.cryptosuite', 'must be eddsa-jcs-2022 of a DataIntegrityProof')
}

/**
 * Checks the proof options. The context of a proof must equal the context of the document, because
 * another context could give its terms another meaning.
 */
function faultOfOptions(
  options: Json,
  { document, now }: { document: Json; now: Date },
): Fault | null {
  const { proofPurpose, expires, previousProof, '@context': context } = options
  if (proofPurpose !== 'assertionMethod')
    return fault('proof.proofPurpose', 'must be assertionMethod')
  if (previousProof !== undefined) return fault('proof.previousProof', 'is not supported')
  if (context !== undefined && canonicalJson(context) !== canonicalJson(document['@context']))
    return fault('proof.@context', 'is not the context of the badge')
  if (expires === undefined) return null
  const end = typeof expires === 'string' ? instantOf(expires) : null
  if (end === null) return fault('proof.expires', 'must be a date-time with a zone')
  return end <= now ? fault('proof.expires', 'is past') : null
}

/**
 * Returns the keys to try. A verification method whose name ends in a key allows only that key; any
 * other name is not resolved.
 */
function keysFor(method: unknown, publicKeys: readonly string[]): readonly string[] {
  if (typeof method !== 'string') return []
  const named = /z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/.exec(method)?.[0]
  return named === undefined ? publicKeys : publicKeys.filter((kid) => kid === named)
}

function keyOf(kid: string) {
  const publicKey = publicKeyOfKid(kid)
  if (publicKey === null) throw new Error('a source has an invalid key')
  return trustedPublicKey(publicKey)
}
