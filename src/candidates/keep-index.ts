/**
 * Keeping the search index right. The cast: whoever changes a person's profile, skills or consents, through whatever statement, meets
 * triggers that take the person out of the index and put them into search_queue. `keepingIndex` wraps the database of every command,
 * so that what a transaction has put there is in the index again when it commits. `indexLeftovers` is a worker's job: it takes up what
 * a transaction without that left behind, or a vocabulary with other names. After a crash the queue says what is left to do.
 */

import { type Db, planAnew, type Tx } from '../platform/db/db.ts'
import { mayBeFound } from '../workers/gate.ts'
import { findWorkers, lockWorkers, type Worker } from '../workers/store.ts'
import type { Card } from './card.ts'
import type { SkillNames } from './skill-names.ts'
import {
  type NewEntry,
  replaceEntries,
  replaceVocabulary,
  takeMarks,
  takeOwnMarks,
} from './store.ts'
import { postingsOf } from './terms.ts'

/** The same database, whose transactions leave nobody they change out of the index. `names` is called where somebody has changed. */
export function keepingIndex(db: Db, names: () => SkillNames): Db {
  return {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        const result = await work(tx)
        const changed = await takeOwnMarks(tx)
        if (changed.length > 0) await indexWorkers(tx, changed, names())
        return result
      }),
  }
}

const batchMax = 256

/** Resolves when the queue is empty, but for what others are at. Gives how many people it looked at. */
export async function indexLeftovers(db: Db, names: SkillNames): Promise<number> {
  for (let indexed = 0; ; ) {
    const taken = await db.transaction(async (tx) => {
      await planAnew(tx)
      const workerIds = await takeMarks(tx, batchMax)
      // Their rows first: what somebody is changing just now is read when it is done.
      if (workerIds.length > 0) await lockWorkers(tx, workerIds)
      if (workerIds.length > 0) await indexWorkers(tx, workerIds, names)
      return workerIds.length
    })
    indexed += taken
    if (taken < batchMax) return indexed
  }
}

/** For a process that starts: people are found by the names of this release's vocabulary once the queue is empty. Says whether they changed. */
export function adoptVocabulary(db: Db, names: SkillNames): Promise<boolean> {
  return db.transaction((tx) => replaceVocabulary(tx, names.sha256))
}

/** A worker's job. Once in the life of a process the vocabulary: of two releases at work at the same time, the one that started last counts. */
export function searchIndexer(db: Db, names: SkillNames): () => Promise<unknown> {
  let adopted = false
  return async () => {
    if (!adopted) await adoptVocabulary(db, names)
    adopted = true
    return indexLeftovers(db, names)
  }
}

async function indexWorkers(tx: Tx, workerIds: readonly string[], names: SkillNames) {
  const people = await findWorkers(tx, { workerIds })
  const entries = people
    .filter(isListed)
    .map(({ workerId, profile }) => entryOf(workerId, profile, names))
  await replaceEntries(tx, workerIds, entries)
}

export function entryOf(
  workerId: string,
  { username, displayName, title, avatarUrl, skills }: Card,
  names: SkillNames,
): NewEntry {
  const card = { username, displayName, title, avatarUrl, skills }
  return { workerId, username, card, postings: postingsOf(card, names) }
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
