/** SQL of the tables `identities` and `identity_changes`. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { StoredIdentity } from './identity-state.ts'

export interface IdentityRow extends StoredIdentity {
  workerId: string
  /** Number of this change of the worker, from 1. */
  change: number
}

export function findIdentities(
  db: Queryable,
  workerIds: readonly string[],
): Promise<IdentityRow[]> {
  return db.rows<IdentityRow>(sql`
    select worker_id as "workerId", state, verified_until as "verifiedUntil", change
    from identities where worker_id = any(${workerIds}::uuid[])`)
}

export interface RecordedMove extends StoredIdentity {
  by: string
  changedAt: Date
}

/** Returns the identity changes of a worker, the newest first. */
export function findIdentityChanges(
  db: Queryable,
  workerId: string,
  limit: number,
): Promise<RecordedMove[]> {
  return db.rows<RecordedMove>(sql`
    select state, verified_until as "verifiedUntil", actor as by, changed_at as "changedAt"
    from identity_changes where worker_id = ${workerId} order by change desc limit ${limit}`)
}

/** Records changes. The last change of each worker becomes its current state. */
export async function insertIdentityChanges(
  tx: Tx,
  changes: readonly IdentityRow[],
  { by, at }: { by: string; at: Date },
): Promise<void> {
  const column = <Name extends keyof IdentityRow>(name: Name) => changes.map((c) => c[name])
  await tx.run(sql`
    with changed as (
      insert into identity_changes (worker_id, change, state, verified_until, actor, changed_at)
      select *, ${by}, ${at} from unnest(${column('workerId')}::uuid[], ${column('change')}::int[],
        ${column('state')}::text[], ${column('verifiedUntil')}::timestamptz[])
      returning worker_id, change, state, verified_until
    )
    insert into identities (worker_id, change, state, verified_until)
    select distinct on (worker_id) * from changed order by worker_id, change desc
    on conflict (worker_id) do update set state = excluded.state,
      verified_until = excluded.verified_until, change = excluded.change`)
}
