/** A database in which whoever is registered is in the search index, as through the command line. */
import { keepingIndex } from '../../src/candidates/keep-index.ts'
import { type NamedRecord, skillNames } from '../../src/candidates/skill-names.ts'
import type { Db } from '../../src/platform/db.ts'
import { publicLine, register } from './people.ts'
import type { Seeker } from './search-oracle.ts'

export const records: readonly NamedRecord[] = [
  { label: 'Java', aliases: ['JDK'] },
  { label: 'JavaScript', aliases: ['JS', 'ECMAScript'] },
  { label: 'Machine learning', aliases: ['ML', 'statistical learning'] },
  { label: 'C', aliases: ['ANSI C'] },
  { label: 'Site reliability', aliases: ['SRE', 'Java operations'] },
]
export const names = skillNames(records)

export function indexed(db: Db): Db {
  return keepingIndex(db, () => names)
}

/** Registers people who may be found, and lets them be found. */
export async function registerSeekers(db: Db, people: readonly Seeker[]): Promise<void> {
  for (let i = 0; i < people.length; i += 256)
    await register(
      indexed(db),
      people.slice(i, i + 256).map((person) => publicLine({ ...person })),
    )
}
