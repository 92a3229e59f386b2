/**
 * A database in which every registered worker is indexed for search, as after registration by the
 * command line.
 */
import { type Db, sql } from '../../../src/platform/db/db.ts'
import type { SearchResult } from '../../../src/workers/candidates/schema.ts'
import type { SearchCandidates } from '../../../src/workers/candidates/search.ts'
import { withSearchIndex } from '../../../src/workers/candidates/search-indexer.ts'
import { type NamedRecord, skillNames } from '../../../src/workers/candidates/skill-names.ts'
import type { Seeker } from '../oracle/search-oracle.ts'
import { now, publicLine, register } from './workers.ts'

export const records: readonly NamedRecord[] = [
  { label: 'Java', aliases: ['JDK'] },
  { label: 'JavaScript', aliases: ['JS', 'ECMAScript'] },
  { label: 'Machine learning', aliases: ['ML', 'statistical learning'] },
  { label: 'C', aliases: ['ANSI C'] },
  { label: 'Site reliability', aliases: ['SRE', 'Java operations'] },
]
export const names = skillNames(records)

export function indexed(db: Db): Db {
  return withSearchIndex(db, () => names)
}

/** Registers workers with a public profile and search listing, so that search can find them. */
export async function registerSeekers(db: Db, workers: readonly Seeker[]): Promise<void> {
  for (let i = 0; i < workers.length; i += 256)
    await register(
      indexed(db),
      workers.slice(i, i + 256).map((worker) => publicLine({ ...worker })),
    )
}

/** Returns the usernames that a search finds, best match first. */
export async function found(search: SearchCandidates, q: string, limit = 50): Promise<string[]> {
  const { candidates }: SearchResult = JSON.parse((await search(q, { limit })).text)
  return candidates.map(({ username }) => username)
}

/**
 * Stores an active score of a registered worker, with its credential if it has one. `scoreId` has
 * 64 hex characters.
 */
export async function giveScore(
  db: Db,
  username: string,
  scoreId: string,
  credential?: { vcSha256: string; statusToken: string },
): Promise<void> {
  const bytesOf = (hex: string | undefined) => (hex === undefined ? null : Buffer.from(hex, 'hex'))
  await db.run(sql`
    insert into scoring_vocabularies (vocabulary_sha256, rules, first_used_at)
    values (sha256('{}'), '{}', ${now}) on conflict do nothing`)
  await db.run(sql`
    insert into score_snapshots (snapshot_id, worker_id, state, change, as_of, engine_id, engine_version,
      engine_sha256, vocabulary_sha256, evidence_root, score, confidence_low, confidence_high, band,
      evidence_count, source_count, issued_at, vc_sha256, status_token)
    select ${Buffer.from(scoreId, 'hex')}, worker_id, 'active', 'first', '2026-05-14', 'hsc', '1.0.0',
      sha256('e'), sha256('{}'), sha256('r'), 494, 354, 608, 'verified', 3, 3, ${now},
      ${bytesOf(credential?.vcSha256)}::bytea, ${bytesOf(credential?.statusToken)}::bytea
    from profiles where username = ${username}`)
}
