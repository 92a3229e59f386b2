/**
 * Pure: the shapes of the vocabulary directory. It has one file for each skill and four other files:
 * `controlled.json` (the controlled lists), `deprecated.json` (id → successor), `crosswalk.json` and
 * `release.json` (written by `releaseOf`). The folder `releases/` keeps each release as it was
 * published. Also the findings of the lint, and the entries that its rules look at.
 */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { closedObject } from '../../../src/platform/json/closed-object.ts'
import { domains } from '../../../src/standard/schema.ts'
import type {
  ControlledLists,
  Crosswalk,
  Deprecations,
  Release,
  SourceRecord,
} from '../../../src/standard/source.ts'

const id = Type.String({ pattern: '^hss:[a-z0-9-]+$', maxLength: 68 })
const ids = (max: number, min = 0) =>
  Type.Array(id, { minItems: min, maxItems: max, uniqueItems: true })
const semver = Type.String({ pattern: '^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)$' })
const slug = Type.String({ pattern: '^[a-z0-9_-]+$', maxLength: 64 })
const label = Type.String({ minLength: 2, maxLength: 60 })

/**
 * A skill on disk: the wire record without `@context`, `@id` and `anchored`, which depend on the
 * base address.
 */
const sourceRecord = closedObject({
  '@type': Type.Literal('Skill'),
  id,
  version: semver,
  label,
  aliases: Type.Array(label, { minItems: 1, maxItems: 6 }),
  domain: Type.Enum([...domains]),
  subdomain: Type.Union([slug, Type.Null()]),
  category: Type.Array(slug, { minItems: 1, maxItems: 3, uniqueItems: true }),
  description: Type.String({ minLength: 120, maxLength: 400 }),
  evidence_types: Type.Array(
    closedObject({
      type: slug,
      weight: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
      signal: Type.String({ minLength: 60, maxLength: 240 }),
    }),
    { minItems: 3, maxItems: 5 },
  ),
  decay_half_life_months: Type.Integer({ minimum: 0, maximum: 240 }),
  depends_on: ids(4),
  related_to: ids(6, 1),
  // Rule V9 checks lengths and keys; the schema checks the shape only.
  proficiency_rubric: Type.Record(Type.String(), Type.String()),
})

const controlledLists = closedObject({
  domains: Type.Array(
    closedObject({ slug: Type.Enum([...domains]), label, description: Type.String() }),
  ),
  subdomains: Type.Array(closedObject({ slug, label, domain: Type.Enum([...domains]) })),
  categories: Type.Array(closedObject({ slug, label })),
  evidence_types: Type.Array(closedObject({ slug, label, description: Type.String() })),
})

/** Maps a deprecated id to the id that replaces it. The deprecated record stays. */
const deprecations = Type.Record(Type.String({ pattern: '^hss:[a-z0-9-]+$' }), id)

/** Rule V17 checks the form of targets; the schema checks the shape only. */
const crosswalk = Type.Array(
  closedObject({
    skill: Type.String(),
    scheme: Type.String(),
    target: Type.String(),
    match: Type.String(),
    /** Name of the target in its scheme. Releases before 1.2.0 have no label and no source. */
    label: Type.Optional(Type.String()),
    /** The publication in which the identifier was looked up. */
    source: Type.Optional(Type.String()),
  }),
)

const digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' })

/** The last release, with which rules V12, V13 and V14 compare. */
const release = closedObject({
  version: semver,
  released_at: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$' }),
  license: Type.String(),
  records: Type.Record(
    Type.String(),
    closedObject({ version: semver, content: digest, score_relevant: digest }),
  ),
})

/** The files as read. The four other files are well-formed; records may be anything. */
export interface VocabularyFiles {
  records: readonly { file: string; content: unknown }[]
  controlled: ControlledLists
  deprecated: Deprecations
  crosswalk: Crosswalk
  /** Null before the first release. */
  release: Release | null
}

export const shapes = {
  record: Compile(sourceRecord),
  controlled: Compile(controlledLists),
  deprecated: Compile(deprecations),
  crosswalk: Compile(crosswalk),
  release: Compile(release),
}

interface Shape {
  Errors(value: unknown): Iterable<{ instancePath: string; message: string }>
}

/** Returns each fault of a value against one of `shapes`, as `place: fault`. */
export function faultsOf(shape: Shape, value: unknown): string[] {
  const faults = [...shape.Errors(value)].filter(({ message }) => message !== 'schema is false')
  return faults.map(({ instancePath, message }) => `${instancePath || '/'}: ${message}`)
}

export type Rule =
  `V${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20}`

export interface Finding {
  rule: Rule
  /**
   * A file of the vocabulary directory, or `catalog` or `bands` for the documents that are made
   * from all files.
   */
  file: string
  message: string
}

/** A record of the right shape. */
export interface Entry {
  file: string
  record: SourceRecord
}
