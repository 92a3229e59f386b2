/**
 * The search order of decision D35, computed worker by worker: slow, but without an index that
 * could be wrong.
 */
import { foldTerm } from '../../../src/candidates/fold.ts'
import type { NamedRecord } from '../../../src/candidates/skill-names.ts'

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
  const folded = foldTerm(q)
  const alone = folded.startsWith('@')
  const text = alone ? folded.slice(1) : folded
  const ranked = workers.flatMap((worker) => {
    const rank = alone ? handleRank(worker, text) : rankOf(worker, text, records)
    if (rank === null) return []
    const verified = (worker.skills ?? []).filter((skill) => skill.verified)
    const matched = alone ? [] : verified.filter(({ name }) => skillRank(name, text, records))
    return { username: worker.username, key: [rank, -matched.length, -verified.length] }
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

function handleRank({ username }: Seeker, text: string): number | null {
  if (username === text) return 1
  return text !== '' && username.startsWith(text) ? 2 : null
}

function rankOf(worker: Seeker, text: string, records: readonly NamedRecord[]): number | null {
  const isPrefix = Array.from(text).length >= 2
  const handle = handleRank(worker, text)
  if (handle === 1 || (handle === 2 && isPrefix)) return handle
  const skills = (worker.skills ?? []).map(({ name }) => skillRank(name, text, records) ?? 9)
  const skill = Math.min(9, ...skills)
  if (skill < 9) return skill
  if (isPrefix && words(foldTerm(worker.displayName)).some((word) => word.startsWith(text)))
    return 5
  if (isPrefix && words(foldTerm(worker.title ?? '')).some((word) => word.startsWith(text)))
    return 6
  return null
}

function skillRank(name: string, text: string, records: readonly NamedRecord[]): number | null {
  if (text === '') return null
  const own = foldTerm(name)
  const known = records.filter(({ label, aliases }) =>
    [label, ...aliases].some((each) => foldTerm(each) === own),
  )
  const labels = [own, ...known.map(({ label }) => foldTerm(label))]
  const aliases = known.flatMap((record) => record.aliases.map(foldTerm))
  if ([...labels, ...aliases].includes(text)) return 3
  if (Array.from(text).length < 2) return null
  const begins = (term: string): boolean => term.startsWith(text)
  return labels.flatMap(words).some(begins) || aliases.some(begins) ? 4 : null
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
