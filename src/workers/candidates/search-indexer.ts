/**
 * Keeps the search index current.
 *
 * Any statement that changes a profile, a skill or a consent fires triggers that remove the worker
 * from the index and add it to search_queue. Commands use a database from `withSearchIndex`, which
 * indexes the workers of each transaction before its commit. An import leaves the workers that
 * search did not find before in the queue, and indexes all of them in the end. The jobs process
 * indexes the workers that other programs leave in the queue, and all workers if the vocabulary has
 * changed. After a crash the queue holds the workers that are still to be indexed.
 */
import { type Db, planAnew, type Tx } from '../../platform/db/db.ts'
import { lockWorkers } from '../store.ts'
import type { SearchHit } from './search-hit.ts'
import type { SkillNames } from './skill-names.ts'
import {
  areNewLeft,
  countQueued,
  findListed,
  holdNewQueued,
  insertEntries,
  insertTerms,
  type NewEntry,
  removeEntries,
  replaceVocabulary,
  takeOwnQueued,
  takeQueued,
} from './store.ts'
import { postingsOf } from './terms.ts'

/**
 * Wraps a database, so that each transaction indexes the workers that it changes. `names` is called
 * only if a transaction has changed a worker. `defersNew` leaves the workers that search did not
 * find before to `indexNewWorkers`.
 */
export function withSearchIndex(db: Db, names: () => SkillNames, defersNew = false): Db {
  return {
    ...db,
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const result = await work(tx)
        const changed = await takeOwnQueued(tx, defersNew)
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
      const takesNew = await areNewLeft(tx)
      return takeAndIndex(tx, { limit: batchMax, takesNew }, names)
    })
    indexed += taken
    if (taken < batchMax) return indexed
  }
}

/** Bounds the locks, and the time for which a change of one of the workers waits. */
const partMax = 100_000

/**
 * Indexes all queued workers in two large parts at a time: while the database inserts the terms of
 * one part, this process makes those of the other. Changes of these workers wait for their part.
 *
 * Measured with an index of 25 times the shared buffers, as a million workers have in the embedded
 * PostgreSQL: 1.32 times the rate of an import that indexes each batch, and half of its write-ahead
 * log. An index that fits into the buffers gains nothing.
 */
export async function indexNewWorkers(db: Db, names: () => SkillNames): Promise<void> {
  const queued = await countQueued(db)
  if (queued === 0) return
  const limit = Math.min(partMax, Math.ceil(queued / 2))
  const indexParts = async (): Promise<void> => {
    for (let taken = limit; taken === limit; )
      taken = await db.transaction(async (tx) => {
        await holdNewQueued(tx)
        return takeAndIndex(tx, { limit, takesNew: true }, names())
      })
  }
  await Promise.all([indexParts(), indexParts()])
}

/** Indexes workers of the queue, and returns their number. */
async function takeAndIndex(
  tx: Tx,
  which: { limit: number; takesNew: boolean },
  names: SkillNames,
): Promise<number> {
  await planAnew(tx)
  const workerIds = await takeQueued(tx, which)
  if (workerIds.length === 0) return 0
  // The lock waits for transactions that change these workers, so their changes are read.
  await lockWorkers(tx, workerIds)
  await indexWorkers(tx, workerIds, names)
  return workerIds.length
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

/** The entries that one statement inserts. */
const entriesMax = 1_000

async function indexWorkers(tx: Tx, workerIds: readonly string[], names: SkillNames) {
  await removeEntries(tx, workerIds)
  for (let from = 0; from < workerIds.length; from += entriesMax) {
    const found = await findListed(tx, workerIds.slice(from, from + entriesMax))
    const entries = found.map(({ workerId, hit }) => entryOf(workerId, hit, names))
    if (entries.length > 0) await insertEntries(tx, entries)
  }
  await insertTerms(tx, workerIds)
}

export function entryOf(
  workerId: string,
  { username, displayName, title, avatarUrl, skills }: SearchHit,
  names: SkillNames,
): NewEntry {
  const hit = { username, displayName, title, avatarUrl, skills }
  return { workerId, username, hit, postings: postingsOf(hit, names) }
}
