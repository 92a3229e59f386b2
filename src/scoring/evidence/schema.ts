/**
 * Shapes of the lines by which an operator imports sources and evidence, and the kinds of sources.
 * The shapes are closed, so a field that is not declared here cannot reach the engine.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { closedObject } from '../../platform/json/closed-object.ts'
import { type Fault, firstFault } from '../../platform/json/shape-fault.ts'

interface SourceKind {
  /** In permille. The operator may set a lower assurance for a source, never a higher one. */
  assuranceMax: number
  /**
   * Group of every source of this kind, if the sources of the kind are not independent of each
   * other.
   */
  group?: string
  meaning: string
}

export const sourceKindNames = [
  'self',
  'unverified_peer',
  'verified_peer',
  'organisation',
  'accredited',
  'machine_verified',
] as const
export type SourceKindName = (typeof sourceKindNames)[number]

/**
 * The lowest assurance above 0. A lighter result could drift a score with its age, where the pulls
 * of the others cancel.
 */
export const assuranceMin = 100

export const sourceKinds: Readonly<Record<SourceKindName, SourceKind>> = {
  self: {
    assuranceMax: 0,
    group: 'self',
    meaning: 'The worker: claims are kept and score nothing.',
  },
  unverified_peer: {
    assuranceMax: 100,
    group: 'unverified-peers',
    meaning: 'People nobody has identified. All of them together are one voice.',
  },
  verified_peer: { assuranceMax: 400, meaning: 'An identified person who worked with the worker.' },
  organisation: { assuranceMax: 700, meaning: 'An employer, a client, a platform.' },
  accredited: { assuranceMax: 1_000, meaning: 'An examiner whose work others have checked.' },
  machine_verified: { assuranceMax: 1_000, meaning: 'A result that a machine can check again.' },
}

const slug = {
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  maxLength: 64,
  description: 'must be lowercase letters and digits, joined by single hyphens, at most 64',
}
/**
 * One line of text without control characters and without characters that reorder the text around
 * them.
 */
const oneLine = (maxLength: number) => ({
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]+$',
  maxLength,
  description: `must be one line of text, at most ${maxLength} characters, none of which reorders it`,
})
const permille = {
  minimum: 0,
  maximum: 1_000,
  description: 'must be a whole number from 0 to 1000',
}
/** Ed25519 Multikey: 0xed01 and the 32 bytes of the key, in base58btc. */
const publicKey = {
  pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$',
  description: 'must be an Ed25519 Multikey, z6Mk…',
}
const publicKeysMax = 16
const calendarDate = {
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
  description: 'must be a date such as 2026-05-14',
}

/** One line of `assay sources register --from`. */
export const sourceLine = closedObject({
  id: Type.String(slug),
  name: Type.String(oneLine(120)),
  kind: Type.Enum([...sourceKindNames], {
    description: `must be one of ${sourceKindNames.join(', ')}`,
  }),
  /** Sources of one group answer for each other's evidence and do not count as independent. */
  group: Type.Optional(Type.String(slug)),
  assurance: Type.Optional(Type.Integer(permille)),
  /**
   * Issuer of the source's Open Badges, with its keys in `publicKeys`. A did:key is its own key.
   */
  issuer: Type.Optional(
    Type.String({
      pattern: '^(did:[a-z0-9]+:|https://)[!-~]+$',
      maxLength: 2_048,
      description: 'must be a DID or an https URL, at most 2048 characters',
    }),
  ),
  publicKeys: Type.Optional(
    Type.Array(Type.String(publicKey), {
      minItems: 1,
      maxItems: publicKeysMax,
      uniqueItems: true,
      description: `must be a list of 1 to ${publicKeysMax} different Ed25519 Multikeys, z6Mk…`,
    }),
  ),
})
export type SourceLine = Static<typeof sourceLine>

/** Private part of an item. It is stored apart from the scored part and can be erased. */
export const evidencePrivate = closedObject(
  {
    artifactUrl: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s]+$',
        maxLength: 2_048,
        description: 'must be an http or https URL, at most 2048 characters',
      }),
    ),
    submitter: Type.Optional(Type.String(oneLine(200))),
    notes: Type.Optional(
      Type.String({ minLength: 1, maxLength: 8_000, description: 'must be 1 to 8000 characters' }),
    ),
  },
  { minProperties: 1, description: 'must be an object with one field or more' },
)

/** Name of the worker of a line: exactly one of the three. Only the worker's id is stored. */
export const workerNames = {
  workerId: Type.Optional(
    Type.String({
      pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
      description: 'must be a UUID',
    }),
  ),
  workerExternalId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'must be a string of 1 to 200 characters',
    }),
  ),
  username: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$',
      description: 'must be a username',
    }),
  ),
}
const skillId = Type.String({
  pattern: '^hss:[a-z0-9-]+$',
  maxLength: 68,
  description: 'must be a skill id such as hss:typescript',
})
const type = Type.String({
  pattern: '^[a-z_]+$',
  maxLength: 64,
  description: 'must be an evidence type such as work_product',
})

/**
 * One line of `assay evidence import`. The worker's name is the only personal data outside
 * `private`: no age, gender, school, picture or place.
 */
export const evidenceLine = closedObject({
  ...workerNames,
  sourceId: Type.String(slug),
  externalId: Type.String(oneLine(200)),
  skillId,
  type,
  value: Type.Integer(permille),
  observedOn: Type.String(calendarDate),
  expiresOn: Type.Optional(Type.String(calendarDate)),
  digest: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'must be 64 lowercase hex characters, the SHA-256 of the artefact',
    }),
  ),
  private: Type.Optional(evidencePrivate),
})
export type EvidenceLine = Static<typeof evidenceLine>

/**
 * The second kind of line, an Open Badge 3.0. Skill, type and value follow from the credential and
 * the operator's mapping of achievements.
 */
export const badgeLine = closedObject({
  ...workerNames,
  sourceId: Type.String(slug),
  credential: Type.Record(Type.String(), Type.Unknown(), {
    description: 'must be an Open Badge 3.0, as a JSON object',
  }),
})
export type BadgeLine = Static<typeof badgeLine>

/** Achievement id to the skill, type and value of its evidence. */
export const achievementsFile = Type.Record(
  Type.String(),
  closedObject(
    { skillId, type, value: Type.Integer(permille) },
    { description: 'must be an object with skillId, type and value' },
  ),
)
export type Achievement = Static<typeof achievementsFile>[string]

/** Reasons for revoking evidence. The event `evidence.revoked` carries them. */
export const revocationReasons = [
  'source_removed',
  'source_invalid',
  'worker_request',
  'dispute_upheld',
  'policy',
] as const
export type RevocationReason = (typeof revocationReasons)[number]

export interface Refused {
  refused: Fault
}

/** Returns a parser that neither fills in nor repairs a value (decision D8). */
export function valueReader<Shape extends TSchema>(
  schema: Shape,
): (value: unknown) => Static<Shape> | Refused {
  const shape = Compile(schema)
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return refused(null, 'The line is not a JSON object.')
    return shape.Check(value) ? value : { refused: firstFault(shape, value) }
  }
}

export function refused(field: string | null, reason: string): Refused {
  return { refused: { field, reason } }
}
