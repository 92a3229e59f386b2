/**
 * Words that lead to skills and stand in no record: tools, job titles and short forms. They are no
 * part of a release, so a new word changes no hash.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { releasedDirectory, VocabularyError } from './releases.ts'

export const searchWordsFile = 'search-words.json'

/** Folded words, each with the ids of its skills, best first. */
const shape = Compile(
  Type.Record(
    Type.String({ pattern: '^[^A-Z]{1,40}$' }),
    Type.Array(Type.String({ pattern: '^hss:[a-z0-9-]+$' }), { minItems: 1, maxItems: 4 }),
  ),
)

export interface SearchWords {
  /** Words that mean this skill before all others. */
  first: string[]
  further: string[]
}

/** Returns the words of each skill, by its id. */
export function loadSearchWords(): ReadonlyMap<string, SearchWords> {
  const content: unknown = JSON.parse(
    readFileSync(join(releasedDirectory, searchWordsFile), 'utf8'),
  )
  if (!shape.Check(content))
    throw new VocabularyError(releasedDirectory, [`${searchWordsFile}: malformed`])
  const words = new Map<string, SearchWords>()
  for (const [word, ids] of Object.entries(content))
    for (const [i, id] of ids.entries()) {
      const own = words.get(id) ?? { first: [], further: [] }
      own[i === 0 ? 'first' : 'further'].push(word)
      words.set(id, own)
    }
  return words
}
