/** Whom another room means by a name: the one question that rooms with rows about workers have for this one. */
import { type Queryable, sql } from '../platform/db.ts'

export interface WorkerNames {
  workerIds: readonly string[]
  /** The operator's own names. */
  externalIds: readonly string[]
  usernames: readonly string[]
}

export interface FoundWorker {
  by: 'workerId' | 'workerExternalId' | 'username'
  name: string
  workerId: string
}

/** A row for each name that somebody has now; ids are compared and given in lowercase. */
export function findWorkerIds(db: Queryable, names: WorkerNames): Promise<FoundWorker[]> {
  const { workerIds, externalIds, usernames } = names
  return db.rows<FoundWorker>(sql`
    select 'workerId' as "by", id::text as name, id as "workerId"
    from workers where id = any(${workerIds}::uuid[])
    union all
    select 'workerExternalId', external_id, id
    from workers where external_id = any(${externalIds}::text[])
    union all
    select 'username', username, worker_id from profiles where username = any(${usernames}::text[])`)
}
