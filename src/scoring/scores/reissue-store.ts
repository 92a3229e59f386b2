/** SQL of the table `score_reissues` and of the view `due_reissues`. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { SharedSnapshot } from './snapshot.ts'
import { snapshotColumns } from './store.ts'

/**
 * Marks the credentials of these scores that are not revoked yet. Called before they are revoked.
 * Credentials of a revoked key are marked with the key. Rows are written in order of their key,
 * against deadlocks.
 */
export async function insertReissues(
  tx: Tx,
  vcSha256s: readonly Buffer[],
  now: Date,
): Promise<void> {
  await tx.run(sql`
    insert into score_reissues (worker_id, vc_sha256, since)
    select s.worker_id, s.vc_sha256, ${now}::timestamptz
    from score_snapshots s join score_credentials c using (vc_sha256) join signing_keys k using (kid)
    where s.vc_sha256 = any(${vcSha256s}::bytea[]) and c.revoked_at is null
      and k.revoked_at is null
    order by s.worker_id, s.vc_sha256
    on conflict do nothing`)
}

/**
 * Marks the credentials of a key on the next page of scores, unless they were revoked before the
 * key. Returns the id of the last score of the page, or null after the last page.
 */
export async function insertReissuesOfKey(
  tx: Tx,
  kid: string,
  { after, limit, now }: { after: Buffer; limit: number; now: Date },
): Promise<Buffer | null> {
  const [page] = await tx.rows<{ last: Buffer | null }>(sql`
    with page as (
      select snapshot_id, worker_id, vc_sha256 from score_snapshots
      where snapshot_id > ${after} order by snapshot_id limit ${limit}
    ), marked as (
      insert into score_reissues (worker_id, vc_sha256, since)
      select p.worker_id, p.vc_sha256, ${now}::timestamptz
      from page p join score_credentials c using (vc_sha256)
      where c.kid = ${kid} and c.revoked_at is null
      order by p.worker_id, p.vc_sha256
      on conflict do nothing
    )
    select snapshot_id as last from page order by snapshot_id desc limit 1`)
  return page?.last ?? null
}

/**
 * Locks at most `limit` workers that have a public score and a marked credential, without waiting,
 * and returns their ids. Two processes therefore work on different workers.
 */
export async function tryLockReissues(
  tx: Tx,
  { limit, now }: { limit: number; now: Date },
): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select d.worker_id as "workerId"
    from due_reissues d join workers w on w.id = d.worker_id
    where d.verified_until > ${now}
    order by d.worker_id limit ${limit} for no key update of w skip locked`)
  return [...new Set(rows.map(({ workerId }) => workerId))]
}

/** Waits until no other transaction replaces a credential, by locking the workers in order. */
export async function waitForReissues(tx: Tx, now: Date): Promise<void> {
  await tx.run(sql`
    select from due_reissues d join workers w on w.id = d.worker_id
    where d.verified_until > ${now} order by d.worker_id for no key update of w`)
}

export interface Reissue {
  workerId: string
  vcSha256: Buffer
}

export function findReissues(db: Queryable, workerIds: readonly string[]): Promise<Reissue[]> {
  return db.rows<Reissue>(sql`
    select worker_id as "workerId", vc_sha256 as "vcSha256" from score_reissues
    where worker_id = any(${workerIds}::uuid[])`)
}

export interface IssuedSnapshot extends SharedSnapshot {
  isActive: boolean
  /** True if the credential or its key is revoked. */
  isRevoked: boolean
}

/** Returns the active scores of these workers, and the scores of these credentials, oldest first. */
export function findIssuedSnapshots(
  db: Queryable,
  { workerIds, vcSha256s }: { workerIds: readonly string[]; vcSha256s: readonly Buffer[] },
): Promise<IssuedSnapshot[]> {
  return db.rows<IssuedSnapshot>(sql`
    select ${snapshotColumns}, s.state = 'active' as "isActive",
      c.revoked_at is not null or k.revoked_at is not null as "isRevoked"
    from score_snapshots s join score_credentials c using (vc_sha256) join signing_keys k using (kid)
    where s.worker_id = any(${workerIds}::uuid[])
      and (s.state = 'active' or s.vc_sha256 = any(${vcSha256s}::bytea[]))
    order by s.issued_at, s.snapshot_id`)
}

/** Deletes rows in order of their key, against deadlocks. */
export async function deleteReissues(tx: Tx, rows: readonly Reissue[]): Promise<void> {
  if (rows.length === 0) return
  await tx.run(sql`
    delete from score_reissues where (worker_id, vc_sha256) in (
      select r.worker_id, r.vc_sha256 from score_reissues r
      join unnest(${rows.map(({ workerId }) => workerId)}::uuid[],
        ${rows.map(({ vcSha256 }) => vcSha256)}::bytea[]) as done(worker_id, vc_sha256)
        using (worker_id, vc_sha256)
      order by r.worker_id, r.vc_sha256 for update of r
    )`)
}

/** Deletes the rows of workers whose scores are no longer shared. */
export async function deleteReissuesOf(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`delete from score_reissues where worker_id = any(${workerIds}::uuid[])`)
}

/** Counts the public scores that wait for a new credential. */
export async function countDueReissues(db: Queryable, now: Date): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*) as count from due_reissues where is_active and verified_until > ${now}`)
  return row?.count ?? 0
}

/** Counts the public scores whose credential the key signed. Reads the whole table. */
export async function countPublicScoresOf(db: Queryable, kid: string, now: Date): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*) as count
    from readable_scores r join score_snapshots s using (snapshot_id)
    join score_credentials c using (vc_sha256)
    where c.kid = ${kid} and r.verified_until > ${now}`)
  return row?.count ?? 0
}

export interface PublicScoreCounts {
  scores: number
  /** Without a credential, or with one that is revoked or has expired. */
  withoutCredential: number
}

/** Reads the whole table, for `assay doctor`. */
export async function countPublicScores(db: Queryable, now: Date): Promise<PublicScoreCounts> {
  const [row] = await db.rows<PublicScoreCounts>(sql`
    select count(*) as scores, count(*) filter (
        where c.vc_sha256 is null or c.valid_until <= ${now} or c.revoked_at is not null
          or k.revoked_at is not null) as "withoutCredential"
    from readable_scores r join score_snapshots s using (snapshot_id)
    left join score_credentials c using (vc_sha256)
    left join signing_keys k using (kid)
    where r.verified_until > ${now}`)
  return row ?? { scores: 0, withoutCredential: 0 }
}
