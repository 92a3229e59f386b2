/** The skill records of this release, as the engine needs them. */
import { join } from 'node:path'
import { scoringVocabulary } from '../scores/scoring-vocabulary.ts'
import type { Vocabulary } from '../scoring-core/evidence.ts'
import { loadVocabulary } from '../skill-standard/vocabulary.ts'

export function releasedVocabulary(): Vocabulary {
  return scoringVocabulary(loadVocabulary(join(import.meta.dirname, '../../vocabulary')).records)
}
