/**
 * Keeps the search index current.
 *
 * Any statement that changes a profile, a skill or a consent fires triggers that remove the worker
 * from the index and add it to search_queue. Commands use a database from `withSearchIndex`, which
 * indexes the workers of each transaction before its commit. The jobs process indexes the workers
 * that other programs leave in the queue, and all workers if the vocabulary has changed. After a
 * crash the queue holds the workers that are still to be indexed.
 */
import { type Db, planAnew, type Tx } from '../../platform/db/db.ts'
import { mayBeFound } from '../gate.ts'
import { findWorkers, lockWorkers, type Worker } from '../store.ts'
import type { SearchHit } from './search-hit.ts'
import type { SkillNames } from './skill-names.ts'
import {
  type NewEntry,
  replaceEntries,
  replaceVocabulary,
  takeOwnQueued,
  takeQueued,
} from './store.ts'
import { postingsOf } from './terms.ts'

/**
 * Wraps a database, so that each transaction indexes the workers that it changes. `names` is called
 * only if a transaction has changed a worker.
 */
export function withSearchIndex(db: Db, names: () => SkillNames): Db {
  return {
    ...db,
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const result = await work(tx)
        const changed = await takeOwnQueued(tx)
        if (changed.length > 0) await indexWorkers(tx, changed, names())
        return result
      }, options),
  }
}

const batchMax = 256

/**
 * Indexes the queued workers and returns their number. Skips workers that another process is
 * indexing.
 */
export async function indexQueuedWorkers(db: Db, names: SkillNames): Promise<number> {
  for (let indexed = 0; ; ) {
    const taken = await db.transaction(async (tx) => {
      await planAnew(tx)
      const workerIds = await takeQueued(tx, batchMax)
      // The lock waits for transactions that change these workers, so their changes are read.
      if (workerIds.length > 0) await lockWorkers(tx, workerIds)
      if (workerIds.length > 0) await indexWorkers(tx, workerIds, names)
      return workerIds.length
    })
    indexed += taken
    if (taken < batchMax) return indexed
  }
}

/**
 * Records the vocabulary of this release. If it differs from the vocabulary of the index, queues
 * all indexed workers and returns true.
 */
export function adoptVocabulary(db: Db, names: SkillNames): Promise<boolean> {
  return db.transaction((tx) => replaceVocabulary(tx, names.sha256))
}

/**
 * Returns the background job. It adopts the vocabulary once in the life of the process: if two
 * releases run at the same time, the vocabulary of the process that started last counts.
 */
export function searchIndexer(db: Db, names: SkillNames): () => Promise<unknown> {
  let adopted = false
  return async () => {
    if (!adopted) await adoptVocabulary(db, names)
    adopted = true
    return indexQueuedWorkers(db, names)
  }
}

async function indexWorkers(tx: Tx, workerIds: readonly string[], names: SkillNames) {
  const workers = await findWorkers(tx, { workerIds })
  const entries = workers
    .filter(isListed)
    .map(({ workerId, profile }) => entryOf(workerId, profile, names))
  await replaceEntries(tx, workerIds, entries)
}

export function entryOf(
  workerId: string,
  { username, displayName, title, avatarUrl, skills }: SearchHit,
  names: SkillNames,
): NewEntry {
  const hit = { username, displayName, title, avatarUrl, skills }
  return { workerId, username, hit, postings: postingsOf(hit, names) }
}

function isListed({ onboardedAt, consents }: Worker): boolean {
  return mayBeFound({
    onboarded: onboardedAt !== null,
    consents: {
      public_profile: consents.public_profile?.granted ?? false,
      search_listing: consents.search_listing?.granted ?? false,
    },
  })
}
