/**
 * The notes on each skill: the reasons for its weights and its half-life, with sources and reviews.
 * They stand apart from the record, whose shape is closed, and change no score.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { standardUrls } from './context.ts'
import type { SkillNotes } from './schema.ts'
import { faultsOf } from './source.ts'
import { releasedDirectory, VocabularyError } from './vocabulary.ts'

const closed = { additionalProperties: false }
const rationale = Type.String({ minLength: 40, maxLength: 600 })

const notesFile = Type.Object(
  {
    skill: Type.String({ pattern: '^hss:[a-z0-9-]+$' }),
    /** The version of the record that the notes cover. */
    record_version: Type.String(),
    weights_rationale: rationale,
    half_life_rationale: rationale,
    role_note: Type.Union([Type.Null(), rationale]),
    /** Keys of `sources.json`. */
    sources: Type.Array(Type.String(), { uniqueItems: true }),
    reviews: Type.Array(
      Type.Object(
        {
          reviewer: Type.String({ minLength: 2, maxLength: 120 }),
          reviewed_at: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' }),
          comment: Type.String({ minLength: 10, maxLength: 600 }),
        },
        closed,
      ),
    ),
  },
  closed,
)
type NotesFile = Static<typeof notesFile>

const sourceList = Type.Record(
  Type.String({ pattern: '^[a-z0-9-]+$' }),
  Type.Object(
    {
      title: Type.String({ minLength: 3 }),
      publisher: Type.String({ minLength: 2 }),
      /** A DOI as a URL, a URL, or the number of a standard. */
      identifier: Type.String({ minLength: 3 }),
    },
    closed,
  ),
)
type SourceList = Static<typeof sourceList>

const shapes = { notes: Compile(notesFile), sources: Compile(sourceList) }

export interface VocabularyNotes {
  /** The notes by the slug of their skill. */
  notes: ReadonlyMap<string, NotesFile>
  sources: SourceList
}

/** Reads the notes of a vocabulary directory. Throws `VocabularyError` if a file is malformed. */
export function loadNotes(directory: string = releasedDirectory): VocabularyNotes {
  const folder = join(directory, 'notes')
  const faults: string[] = []
  const notes = new Map<string, NotesFile>()
  let sources: SourceList = {}
  for (const file of readdirSync(folder).sort()) {
    const content: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const slug = file.replace(/\.json$/, '')
    if (file === 'sources.json' && shapes.sources.Check(content)) sources = content
    else if (shapes.notes.Check(content)) notes.set(slug, content)
    else {
      const shape = file === 'sources.json' ? shapes.sources : shapes.notes
      faults.push(...faultsOf(shape, content).map((fault) => `notes/${file} ${fault}`))
    }
  }
  if (faults.length > 0) throw new VocabularyError(directory, faults)
  return { notes, sources }
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
