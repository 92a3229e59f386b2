/** The skill records of this release, as the engine and as search need them. */
import { type SkillNames, skillNames } from '../candidates/skill-names.ts'
import { scoringVocabulary } from '../scores/scoring-vocabulary.ts'
import type { Vocabulary } from '../scoring-core/evidence.ts'
import { loadReleasedVocabulary } from '../skill-standard/vocabulary.ts'

export function releasedVocabulary(): Vocabulary {
  return scoringVocabulary(loadReleasedVocabulary().records)
}

let names: SkillNames | undefined

/** Read once, and only if a command needs them. */
export function releasedSkillNames(): SkillNames {
  names ??= skillNames(loadReleasedVocabulary().records)
  return names
}
