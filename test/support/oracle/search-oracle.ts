/**
 * The search order of decision D35, computed worker by worker: slow, but without an index that
 * could be wrong.
 */
import { foldText } from '../../../src/platform/fold-text.ts'
import type { NamedRecord } from '../../../src/workers/candidates/skill-names.ts'

export interface Seeker {
  username: string
  displayName: string
  title?: string | null
  skills?: readonly { name: string; verified?: boolean }[]
}

/** Returns the usernames, best match first. */
export function searchByHand(
  workers: readonly Seeker[],
  records: readonly NamedRecord[],
  { q, limit }: { q: string; limit: number },
): string[] {
  const folded = foldText(q)
  const alone = folded.startsWith('@')
  const handle = alone ? folded.slice(1) : folded
  const ranked = workers.flatMap((worker) => {
    const verified = (worker.skills ?? []).filter((skill) => skill.verified).length
    const found = alone ? handleRank(worker, handle) : rankOf(worker, handle, records)
    if (found === null) return []
    const [rank, matched] = typeof found === 'number' ? [found, 0] : found
    return { username: worker.username, key: [rank, -matched, -verified] }
  })
  return ranked
    .sort(inOrder)
    .map(({ username }) => username)
    .slice(0, limit)
}

interface Placed {
  username: string
  key: number[]
}

function inOrder(a: Placed, b: Placed): number {
  for (const [i, value] of a.key.entries()) {
    const difference = value - (b.key[i] ?? 0)
    if (difference !== 0) return difference
  }
  return a.username < b.username ? -1 : 1
}

function handleRank({ username }: Seeker, handle: string): number | null {
  if (username === handle) return 1
  return handle !== '' && username.startsWith(handle) ? 2 : null
}

/** Returns the kind of match and the number of verified skills that match. */
function rankOf(
  worker: Seeker,
  folded: string,
  records: readonly NamedRecord[],
): [number, number] | null {
  const skills = worker.skills ?? []
  const levels = [(text: string) => text, withoutAccents].map((level) => {
    const named = skills.map(({ name, verified = false }) => ({
      ...namesOf(name, records, level),
      verified,
    }))
    return { orders: ordersOf(spaced(level(folded))), level, named }
  })
  const handle = handleRank(worker, folded)
  if (handle === 1) return [1, 0]
  if (handle === 2 && lengthOf(folded) > 1) {
    const { orders, named } = levels[0] as (typeof levels)[number]
    const begins = named.filter(({ beginnings, verified }) => {
      return verified && beginnings.some((text) => text.startsWith(orders[0] as string))
    })
    return [2, begins.length]
  }
  const isWhole = (text: string, { whole }: Named): boolean => whole.includes(text)
  const matches = (text: string, { whole, beginnings }: Named): boolean =>
    lengthOf(text) > 1 ? beginnings.some((one) => one.startsWith(text)) : whole.includes(text)
  for (const [rank, by] of [
    [3, isWhole],
    [5, matches],
  ] as const)
    for (const [i, { orders, named }] of levels.entries()) {
      const fitting = orders.filter((text) => named.some((one) => by(text, one)))
      const counts = fitting.map(
        (text) => named.filter((one) => one.verified && matches(text, one)).length,
      )
      if (counts.length > 0) return [rank + i, Math.max(...counts)]
    }
  for (const [rank, written] of [
    [7, worker.displayName],
    [9, worker.title ?? ''],
  ] as const)
    for (const [i, { orders, level }] of levels.entries()) {
      const texts = formsOf(level(foldText(written))).flatMap(words)
      const begins = (text: string): boolean => texts.some((one) => one.startsWith(text))
      if (orders.some((text) => lengthOf(text) > 1 && begins(text))) return [rank + i, 0]
    }
  return null
}

interface Named {
  /** The names of a skill. */
  whole: string[]
  /** What a query may begin with. */
  beginnings: string[]
}

const named = new WeakMap<readonly NamedRecord[], Map<string, Named>>()

/** Remembers each name of a vocabulary, because thousands of workers share it. */
function namesOf(
  name: string,
  records: readonly NamedRecord[],
  level: (text: string) => string,
): Named {
  const known = named.get(records) ?? new Map<string, Named>()
  named.set(records, known)
  const key = `${level === withoutAccents} ${name}`
  const names = known.get(key) ?? readNames(name, records, level)
  known.set(key, names)
  return names
}

function readNames(
  name: string,
  records: readonly NamedRecord[],
  level: (text: string) => string,
): Named {
  const forms = (text: string): string[] => formsOf(level(foldText(text)))
  const own = forms(name)
  const known = records.filter(({ label, aliases }) =>
    [label, ...aliases].flatMap(forms).some((form) => own.includes(form)),
  )
  const labels = [...own, ...known.flatMap(({ label }) => forms(label))]
  const aliases = known.flatMap((record) => record.aliases.flatMap(forms))
  return { whole: [...labels, ...aliases], beginnings: [...labels.flatMap(words), ...aliases] }
}

/** The text with spaces for hyphens, dots and slashes, and without them. */
function formsOf(folded: string): string[] {
  return [spaced(folded), spaced(folded.replaceAll(/[-./]/g, ''))].filter((text) => text !== '')
}

function spaced(folded: string): string {
  const words = folded.split(/[-./\s]+/).filter((word) => word !== '')
  return Array.from(words.join(' ')).slice(0, 80).join('').trim()
}

function withoutAccents(folded: string): string {
  return folded
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .replaceAll('ø', 'o')
}

/** Every order of at most four words. The order as written comes first. */
function ordersOf(text: string): string[] {
  const found: string[] = []
  const take = (taken: string[], left: string[]): void => {
    if (left.length === 0) found.push(taken.join(' '))
    for (const [i, word] of left.entries()) take([...taken, word], left.toSpliced(i, 1))
  }
  const split = text.split(' ')
  if (text === '') return []
  if (split.length > 4) return [text]
  take([], split)
  return found
}

function lengthOf(text: string): number {
  return Array.from(text).length
}

/**
 * Returns the whole text, and its rest from each word that begins later. A word begins at a letter
 * or digit after a character that is no letter, mark or digit.
 */
function words(text: string): string[] {
  const found = [text]
  const isLetter = (character: string | undefined): boolean => /[\p{L}\p{N}]/u.test(character ?? '')
  const characters = Array.from(text)
  for (const [i, character] of characters.entries())
    if (i > 0 && isLetter(character) && !/[\p{L}\p{M}\p{N}]/u.test(characters[i - 1] ?? ''))
      found.push(characters.slice(i).join(''))
  return found
}
