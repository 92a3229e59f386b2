/** Lookup of computed scores, for commands that issue scores from a file. */
import type { Queryable, Tx } from '../../platform/db/db.ts'
import { lockWorkers } from '../../workers/api.ts'
import { findUsernameOwners } from '../../workers/worker-ids.ts'
import { findWorkerCredentials } from './store.ts'

/**
 * Returns those of `usernames` whose worker has a computed score, with the digest of its
 * credential, or null if the score has none. A username that the worker had before counts too.
 */
export async function findComputedScores(
  db: Queryable,
  usernames: readonly string[],
): Promise<Map<string, Buffer | null>> {
  const owners = await findUsernameOwners(db, usernames)
  const workerIds = owners.map(({ workerId }) => workerId)
  const scores = workerIds.length === 0 ? [] : await findWorkerCredentials(db, workerIds)
  const active = new Map(
    scores.filter((score) => score.active).map(({ workerId, vcSha256 }) => [workerId, vcSha256]),
  )
  return new Map(
    owners.flatMap(({ username, workerId }) => {
      const vcSha256 = active.get(workerId)
      return vcSha256 === undefined ? [] : [[username, vcSha256]]
    }),
  )
}

/**
 * Does the same as `findComputedScores` and locks the workers, so that none of them gets a computed
 * score until the transaction ends.
 */
export async function lockComputedScores(
  tx: Tx,
  usernames: readonly string[],
): Promise<Map<string, Buffer | null>> {
  const owners = await findUsernameOwners(tx, usernames)
  if (owners.length === 0) return new Map()
  await lockWorkers(
    tx,
    owners.map(({ workerId }) => workerId),
  )
  return findComputedScores(tx, usernames)
}
