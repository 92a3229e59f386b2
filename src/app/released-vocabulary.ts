/** The skill records of this release, as the engine and as search need them. */
import { type SkillNames, skillNames } from '../candidates/skill-names.ts'
import { scoringVocabulary } from '../scores/scoring-vocabulary.ts'
import { loadReleasedVocabulary } from '../skill-standard/releases.ts'

export function releasedVocabulary(): ReturnType<typeof scoringVocabulary> {
  return scoringVocabulary(loadReleasedVocabulary().records)
}

export function releasedSkillNames(): SkillNames {
  return skillNames(loadReleasedVocabulary().records)
}
