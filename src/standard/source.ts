/**
 * The contents of a release of the vocabulary, without a base address: what a file of
 * `vocabulary/releases/` holds. `packages/vocabulary` checks the shapes before it writes one.
 */
import type { domains } from './schema.ts'

type Domain = (typeof domains)[number]

/** A skill: the wire record without the members that depend on the base address. */
export interface SourceRecord {
  '@type': 'Skill'
  id: string
  version: string
  label: string
  aliases: string[]
  domain: Domain
  subdomain: string | null
  category: string[]
  description: string
  evidence_types: { type: string; weight: number; signal: string }[]
  decay_half_life_months: number
  depends_on: string[]
  related_to: string[]
  proficiency_rubric: Record<string, string>
}

export type ControlledLists = {
  domains: { slug: Domain; label: string; description: string }[]
  subdomains: { slug: string; label: string; domain: Domain }[]
  categories: { slug: string; label: string }[]
  evidence_types: { slug: string; label: string; description: string }[]
}

/** Maps a deprecated id to the id that replaces it. The deprecated record stays. */
export type Deprecations = Record<string, string>

export type Crosswalk = {
  skill: string
  scheme: string
  target: string
  match: string
  /** Name of the target in its scheme. Releases before 1.2.0 have no label and no source. */
  label?: string
  /** The publication in which the identifier was looked up. */
  source?: string
}[]

export interface Release {
  version: string
  released_at: string
  license: string
  records: Record<string, { version: string; content: string; score_relevant: string }>
}

/** Every release from the oldest to the newest, with the hash of its archive. */
export type ReleaseIndex = { version: string; released_at: string; content: string }[]
