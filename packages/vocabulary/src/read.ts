/** Reads the vocabulary directory. Every fault of every file is reported at once. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseStrictJson } from '../../../src/platform/json/strict-json.ts'
import type { Vocabulary } from '../../../src/standard/catalog.ts'
import { VocabularyError } from '../../../src/standard/releases.ts'
import { searchWordsFile } from '../../../src/standard/search-words.ts'
import type { SourceRecord } from '../../../src/standard/source.ts'
import { faultsOf, shapes, type VocabularyFiles } from './source.ts'

/** Loads a well-formed vocabulary. `lintVocabulary` judges its quality. */
export function loadVocabulary(directory: string): Vocabulary {
  const files = readVocabulary(directory)
  const faults: string[] = []
  const records: SourceRecord[] = []
  for (const { file, content } of files.records) {
    if (shapes.record.Check(content)) records.push(content)
    else faults.push(...faultsOf(shapes.record, content).map((fault) => `${file} ${fault}`))
  }
  const { controlled, deprecated, crosswalk, release } = files
  if (release === null) faults.push('release.json: missing')
  if (files.records.length === 0) faults.push('there is no skill record')
  if (faults.length > 0 || release === null) throw new VocabularyError(directory, faults)
  records.sort((a, b) => (a.id < b.id ? -1 : 1))
  return { records, controlled, deprecated, crosswalk, release }
}

/**
 * Reads the files for `lintVocabulary`. Throws if a file is unreadable or not JSON, or if one of
 * the four other files is malformed.
 */
export function readVocabulary(directory: string): VocabularyFiles {
  const faults: string[] = []
  const contents = new Map<string, unknown>()
  for (const file of filesOf(directory)) {
    const json = parseStrictJson(readFileSync(join(directory, file)))
    if (json.kind === 'value') contents.set(file, json.value)
    else faults.push(`${file}: ${json.why}`)
  }
  const controlled = take('controlled.json', shapes.controlled)
  const deprecated = take('deprecated.json', shapes.deprecated)
  const crosswalk = take('crosswalk.json', shapes.crosswalk)
  const release = contents.has('release.json') ? take('release.json', shapes.release) : null
  if (faults.length > 0 || !controlled || !deprecated || !crosswalk || release === undefined)
    throw new VocabularyError(directory, faults)
  const records = [...contents].map(([file, content]) => ({ file, content }))
  return { records, controlled, deprecated, crosswalk, release }

  function take<Shaped>(file: string, shape: ShapeOf<Shaped>): Shaped | undefined {
    const content = contents.get(file)
    contents.delete(file)
    if (shape.Check(content)) return content
    if (content === undefined) faults.push(`${file}: missing or unreadable`)
    else faults.push(...faultsOf(shape, content).map((fault) => `${file} ${fault}`))
    return undefined
  }
}

interface ShapeOf<Shaped> {
  Check(value: unknown): value is Shaped
  Errors(value: unknown): Iterable<{ instancePath: string; message: string }>
}

function filesOf(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((file) => file.endsWith('.json') && file !== searchWordsFile)
      .sort()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new VocabularyError(directory, [`the directory cannot be read: ${why}`])
  }
}
