/** Lookup of worker ids by name, for modules with rows about workers. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { usernameDigest } from './username.ts'

export interface WorkerNames {
  workerIds: readonly string[]
  /** Operator's own ids. */
  externalIds: readonly string[]
  usernames: readonly string[]
}

export interface FoundWorker {
  by: 'workerId' | 'workerExternalId' | 'username'
  name: string
  workerId: string
}

/**
 * Returns a row for each name that a worker has now. Ids are compared and returned in lowercase.
 */
export function findWorkerIds(db: Queryable, names: WorkerNames): Promise<FoundWorker[]> {
  const { workerIds, externalIds, usernames } = names
  return db.rows<FoundWorker>(sql`
    select 'workerId' as "by", id::text as name, id as "workerId"
    from workers where id = any(${workerIds}::uuid[]) and erased_at is null
    union all
    select 'workerExternalId', external_id, id
    from workers where external_id = any(${externalIds}::text[])
    union all
    select 'username', username, worker_id from profiles where username = any(${usernames}::text[])`)
}

/** Returns the worker of each username that a worker has or had. */
export function findUsernameOwners(
  db: Queryable,
  usernames: readonly string[],
): Promise<{ username: string; workerId: string }[]> {
  return db.rows(sql`
    select n.username, u.worker_id as "workerId"
    from unnest(${usernames}::text[], ${usernames.map(usernameDigest)}::bytea[])
      as n(username, username_sha256)
    join usernames u using (username_sha256)`)
}

/**
 * Returns the workers that are not erased and locks them until the transaction ends. An erasure
 * waits for this transaction and then erases its writes too. Rows are locked in order of id,
 * against deadlocks.
 */
export async function holdWorkers(tx: Tx, workerIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx.rows<{ id: string }>(sql`
    select id from workers where id = any(${workerIds}::uuid[]) and erased_at is null
    order by id for key share`)
  return new Set(rows.map(({ id }) => id))
}
