/** Pure: the search of skills. */
import type { SkillRecord } from '../../standard/schema.ts'
import type { SearchWords } from '../../standard/search-words.ts'
import type { Crosswalk } from '../../standard/source.ts'
import { openTextIndex, type TextIndex } from '../text-index.ts'

export interface SkillSearchSources {
  skills: readonly SkillRecord[]
  crosswalk: Crosswalk
  searchWords: ReadonlyMap<string, SearchWords>
}

/** Opens the search. It also finds a skill by its id in ESCO and O*NET. */
export function openSkillSearch({
  skills,
  crosswalk,
  searchWords,
}: SkillSearchSources): Promise<TextIndex<SkillRecord>> {
  return openTextIndex(skills, {
    fields: { label: 8, names: 7, words: 10, further: 2, mapped: 3, text: 0.6 },
    textsOf: ({ id, label, aliases, description }) => ({
      label,
      names: [...aliases, id].join('\n'),
      words: searchWords.get(id)?.first.join('\n') ?? '',
      further: searchWords.get(id)?.further.join('\n') ?? '',
      mapped: crosswalk
        .filter(({ skill }) => skill === id)
        .map(({ target, label: name }) => `${target} ${name}`)
        .join('\n'),
      text: description,
    }),
    enough: 1,
  })
}
