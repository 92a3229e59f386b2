/**
 * A fictional population for the search benchmark: candidate n is always the same. Skills and
 * handles are skewed like real ones.
 */
import type { SourceRecord } from '../src/standard/source.ts'

export interface BenchWorker {
  username: string
  displayName: string
  title: string
  skills: { name: string; verified: boolean; level: null }[]
}

const syllables =
  'ba be bi bo da de di do fa ga ha ja ka ke ki la le li lo ma me mi mo na ne no pa ra re ri ro sa se si so ta te ti va za'.split(
    ' ',
  )
const roles =
  'Engineer Designer Analyst Manager Writer Developer Researcher Consultant Teacher Architect'.split(
    ' ',
  )
const fields =
  'Data Software Product Security Finance Marketing Machine_Learning Front-end Platform Supply_Chain'.split(
    ' ',
  )

/** Free skill names, of which the first occur far more often than the last. */
const freeSkillsCount = 20_000

export function populationOf(records: readonly SourceRecord[]): (n: number) => BenchWorker {
  const known = records.flatMap(({ label, aliases }) => [label, label, label, ...aliases])
  return (n) => {
    const random = randomOf(n)
    const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item
    const first = word(random(400))
    const last = word(400 + random(4_000))
    const names = new Map<string, string>()
    for (let i = 3 + random(4); i > 0; i--) {
      const name = random(10) < 6 ? pick(known) : freeSkill(skewed(random, freeSkillsCount))
      names.set(name.toLowerCase(), name)
    }
    return {
      username: `${first}-${last}-${n.toString(36)}`.slice(-30).replace(/^[-_]+/, ''),
      displayName: `${capital(first)} ${capital(last)}`,
      title: `${pick(['Senior ', 'Lead ', '', ''])}${pick(fields).replace('_', ' ')} ${pick(roles)}`,
      skills: [...names.values()].map((name) => ({
        name,
        verified: random(2) === 0,
        level: null,
      })),
    }
  }
}

function freeSkill(n: number): string {
  return n % 3 === 0 ? `${capital(word(n))} ${word(n >> 3)}` : capital(word(n))
}

function word(n: number): string {
  const syllable = (i: number): string => syllables[i % syllables.length] as string
  return syllable(n) + syllable(n * 7 + 3) + (n > 40 ? syllable(Math.trunc(n / 40)) : 'n')
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Half of all picks are in the first percent. */
function skewed(random: (below: number) => number, count: number): number {
  return random(2) === 0 ? random(count / 100) : random(count)
}

/** xorshift32. */
export function randomOf(seed: number): (below: number) => number {
  let state = (seed + 1) * 2_654_435_761 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
