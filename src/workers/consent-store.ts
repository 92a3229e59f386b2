/** SQL of the tables `consents` and `consent_changes`. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { Permission } from './schema.ts'

export interface Consent {
  granted: boolean
  /** Version of the text that the worker agreed to, or null if the consent is withdrawn. */
  textVersion: string | null
  consentVersion: number
}

export interface ConsentRow extends Consent {
  workerId: string
  permission: Permission
}

export function findConsents(db: Queryable, workerIds: readonly string[]): Promise<ConsentRow[]> {
  return db.rows<ConsentRow>(sql`
    select worker_id as "workerId", permission, granted, text_version as "textVersion",
      consent_version as "consentVersion"
    from consents where worker_id = any(${workerIds}::uuid[])`)
}

export interface ConsentChange extends ConsentRow {
  /** Null if the worker had not decided on the permission before. */
  previousGranted: boolean | null
}

export interface RecordedChange extends Omit<ConsentChange, 'workerId'> {
  by: string
  effectiveAt: Date
}

/** Returns the consent changes of a worker, the newest first. */
export function findConsentChanges(
  db: Queryable,
  workerId: string,
  limit: number,
): Promise<RecordedChange[]> {
  return db.rows<RecordedChange>(sql`
    select permission, granted, previous_granted as "previousGranted",
      text_version as "textVersion", consent_version as "consentVersion", actor as by,
      effective_at as "effectiveAt"
    from consent_changes where worker_id = ${workerId}
    order by consent_version desc limit ${limit}`)
}

/**
 * Records changes and updates the current consents. The changes of one worker must stand in
 * ascending order of their versions, and each permission of a worker may occur once.
 */
export async function insertConsentChanges(
  tx: Tx,
  changes: readonly ConsentChange[],
  { by, at }: { by: string; at: Date },
): Promise<void> {
  const column = <Name extends keyof ConsentChange>(name: Name) => changes.map((c) => c[name])
  await tx.run(sql`
    with changed as (
      insert into consent_changes (worker_id, consent_version, permission, granted,
        previous_granted, text_version, actor, effective_at)
      select *, ${by}, ${at} from unnest(${column('workerId')}::uuid[],
        ${column('consentVersion')}::int[], ${column('permission')}::text[],
        ${column('granted')}::boolean[], ${column('previousGranted')}::boolean[],
        ${column('textVersion')}::text[])
      returning worker_id, consent_version, permission, granted, text_version
    )
    insert into consents (worker_id, consent_version, permission, granted, text_version)
    select * from changed
    on conflict (worker_id, permission) do update set granted = excluded.granted,
      text_version = excluded.text_version, consent_version = excluded.consent_version`)
}

/** Raises the consent version of each worker to that of its last change. */
export async function raiseConsentVersions(
  tx: Tx,
  changes: readonly ConsentChange[],
): Promise<void> {
  const workerIds = changes.map(({ workerId }) => workerId)
  const versions = changes.map(({ consentVersion }) => consentVersion)
  await tx.run(sql`
    update workers w set consent_version = new.version
    from (select worker_id, max(version) as version
      from unnest(${workerIds}::uuid[], ${versions}::int[]) as each(worker_id, version)
      group by worker_id) new
    where w.id = new.worker_id`)
}
