/** The skill records of this release, as the engine and as search need them. */
import { scoringVocabulary } from '../scoring/scores/scoring.ts'
import { loadReleasedVocabulary } from '../standard/releases.ts'
import { type SkillNames, skillNames } from '../workers/candidates/skill-names.ts'

export function releasedVocabulary(): ReturnType<typeof scoringVocabulary> {
  return scoringVocabulary(loadReleasedVocabulary().records)
}

export function releasedSkillNames(): SkillNames {
  return skillNames(loadReleasedVocabulary().records)
}
