/**
 * Pure: the place of a candidate in the result of a search (decision D35), from its search hit
 * alone. The search index yields the same order without examining each candidate.
 */
import { foldAccents, hasTwoLetters, textsFromWords } from './fold.ts'
import type { Place, Search, SearchHit } from './search-hit.ts'
import { beginsSkill, matchesSkill, type SkillNames, type SkillTerms } from './skill-names.ts'
import { rankOf } from './terms.ts'

/** Returns null if the search does not find the candidate. */
export function placeOf(hit: SearchHit, search: Search, names: SkillNames): Place | null {
  const { username, skills } = hit
  const verified = skills.filter((skill) => skill.verified)
  const placed = (section: number, matchedCount: number): Place => ({
    section,
    rank: rankOf({ matchedCount, verifiedCount: verified.length }),
    username,
  })
  if (username === search.handle) return placed(1, 0)
  if (search.handlesOnly)
    return search.handle !== '' && username.startsWith(search.handle) ? placed(2, 0) : null

  const levels = [
    { orders: search.orders, textOf: (text: string) => text, names },
    { orders: search.bareOrders, textOf: foldAccents, names: names.bare },
  ].map(({ orders, textOf, names: namesOfLevel }) => {
    const termsOf = (skill: { name: string }) => namesOfLevel.of(textOf(skill.name))
    return { orders, textOf, terms: skills.map(termsOf), verifiedTerms: verified.map(termsOf) }
  })
  if (hasTwoLetters(search.handle) && username.startsWith(search.handle)) {
    const [
      {
        orders: [text = ''],
        verifiedTerms,
      },
    ] = levels as [(typeof levels)[number]]
    return placed(2, text === '' ? 0 : verifiedTerms.filter((one) => beginsSkill(text, one)).length)
  }
  const isWhole = (text: string, { whole }: SkillTerms): boolean => whole.includes(text)
  for (const [section, matches] of [
    [3, isWhole],
    [5, matchesSkill],
  ] as const)
    for (const [i, { orders, terms, verifiedTerms }] of levels.entries()) {
      const counts = orders
        .filter((text) => terms.some((one) => matches(text, one)))
        .map((text) => verifiedTerms.filter((one) => matchesSkill(text, one)).length)
      if (counts.length > 0) return placed(section + i, Math.max(...counts))
    }
  for (const [section, written] of [
    [7, hit.displayName],
    [9, hit.title ?? ''],
  ] as const)
    for (const [i, { orders, textOf }] of levels.entries()) {
      const texts = textsFromWords(textOf(written))
      const begins = (text: string) => texts.some((one) => one.startsWith(text))
      if (orders.filter(hasTwoLetters).some(begins)) return placed(section + i, 0)
    }
  return null
}
