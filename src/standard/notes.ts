/**
 * The notes on each skill: the reasons for its weights and its half-life, with sources and reviews.
 * They stand apart from the record, whose shape is closed, and change no score.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { standardUrls } from './context.ts'
import { releasedDirectory } from './releases.ts'
import type { SkillNotes } from './schema.ts'

/** A file of `vocabulary/notes/`. `packages/vocabulary` checks the shape. */
interface NotesFile {
  skill: string
  /** The version of the record that the notes cover. */
  record_version: string
  weights_rationale: string
  half_life_rationale: string
  role_note: string | null
  /** Keys of `sources.json`. */
  sources: string[]
  reviews: { reviewer: string; reviewed_at: string; comment: string }[]
}

type SourceList = Record<string, { title: string; publisher: string; identifier: string }>

export interface VocabularyNotes {
  /** The notes by the slug of their skill. */
  notes: ReadonlyMap<string, NotesFile>
  sources: SourceList
}

/** Reads the notes of a vocabulary directory. */
export function loadNotes(directory: string = releasedDirectory): VocabularyNotes {
  const folder = join(directory, 'notes')
  const files = new Map<string, unknown>(
    readdirSync(folder)
      .sort()
      .map((file) => [file.slice(0, -'.json'.length), readJson(join(folder, file))]),
  )
  const sources = files.get('sources') as SourceList
  files.delete('sources')
  return { notes: files as Map<string, NotesFile>, sources }
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Returns the document of `/standard/v1/skills/{id}/notes`, or undefined without notes. */
export function notesDocument(
  slug: string,
  {
    publicUrl,
    license,
    vocabularyNotes,
  }: { publicUrl: string; license: string; vocabularyNotes: VocabularyNotes },
): SkillNotes | undefined {
  const found = vocabularyNotes.notes.get(slug)
  if (found === undefined) return undefined
  const urls = standardUrls(publicUrl)
  return {
    '@context': urls.context,
    '@type': 'SkillNotes',
    '@id': urls.notes(slug),
    about: found.skill,
    about_version: found.record_version,
    weights_rationale: found.weights_rationale,
    half_life_rationale: found.half_life_rationale,
    role_note: found.role_note,
    sources: found.sources.flatMap((key) => vocabularyNotes.sources[key] ?? []),
    reviews: found.reviews,
    license,
  }
}
