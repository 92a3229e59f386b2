/** Pure: the order of decision D35 by a look at every person, where they are few. What the index gives is the same order. */
import type { Card, Search } from './card.ts'
import { beginnings, hasTwoLetters } from './fold.ts'
import { matchesSkill, type SkillNames } from './skill-names.ts'

/** The first `limit` of those who are found, in order. */
export function lookThrough<Person extends Card>(
  people: readonly Person[],
  { text, handlesAlone, limit }: Search,
  names: SkillNames,
): Person[] {
  return people
    .flatMap((person) => {
      const verified = person.skills.filter((skill) => skill.verified)
      const matched = handlesAlone
        ? []
        : verified.filter(({ name }) => matchesSkill(text, names.of(name)))
      const kind = handlesAlone ? handleKind(person, text) : kindOf(person, text, names)
      return kind === null ? [] : { person, key: [kind, -matched.length, -verified.length] }
    })
    .sort(inOrder)
    .slice(0, limit)
    .map(({ person }) => person)
}

function inOrder(a: { person: Card; key: number[] }, b: { person: Card; key: number[] }): number {
  const differing = a.key.findIndex((value, i) => value !== b.key[i])
  if (differing >= 0) return (a.key[differing] as number) - (b.key[differing] as number)
  return a.person.username < b.person.username ? -1 : 1
}

function handleKind({ username }: Card, text: string): number | null {
  if (username === text) return 0
  return text !== '' && username.startsWith(text) ? 1 : null
}

function kindOf(person: Card, text: string, names: SkillNames): number | null {
  const isBeginning = hasTwoLetters(text)
  const handle = handleKind(person, text)
  if (handle !== null && (handle === 0 || isBeginning)) return handle
  const skills = person.skills.map(({ name }) => names.of(name))
  if (skills.some(({ whole }) => whole.includes(text))) return 2
  if (!isBeginning) return null
  if (skills.some((terms) => matchesSkill(text, terms))) return 3
  const begins = (word: string): boolean => word.startsWith(text)
  if (beginnings(person.displayName).some(begins)) return 4
  return person.title !== null && beginnings(person.title).some(begins) ? 5 : null
}
