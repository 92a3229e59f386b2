/** Export and erasure of the data of this module about one worker. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

/** Of usernames it has the times. The names themselves are kept only while a profile shows them. */
export async function findWorkerHistory(db: Queryable, workerId: string): Promise<object> {
  const [row] = await db.rows<object>(sql`
    select w.registered_at as "registeredAt",
      array(select taken_at from usernames u where u.worker_id = w.id order by taken_at)
        as "usernamesTakenAt",
      (select coalesce(json_agg(json_build_object('consentVersion', c.consent_version,
        'permission', c.permission, 'granted', c.granted, 'textVersion', c.text_version,
        'actor', c.actor, 'effectiveAt', c.effective_at) order by c.consent_version), '[]')
        from consent_changes c where c.worker_id = w.id) as "consentChanges",
      (select coalesce(json_agg(json_build_object('state', i.state,
        'verifiedUntil', i.verified_until, 'actor', i.actor, 'changedAt', i.changed_at)
        order by i.change), '[]')
        from identity_changes i where i.worker_id = w.id) as "identityChanges"
    from workers w where w.id = ${workerId}`)
  if (row === undefined) throw new Error('the worker has no row')
  return row
}

/** Returns the digest of every username that the worker has or had. */
export async function findUsernameDigests(db: Queryable, workerId: string): Promise<Buffer[]> {
  const rows = await db.rows<{ digest: Buffer }>(sql`
    select username_sha256 as digest from usernames where worker_id = ${workerId}`)
  return rows.map(({ digest }) => digest)
}

/**
 * Locks the worker row exclusively. Concurrent writers finish first; later writers find no worker
 * to change. Returns false if the worker does not exist or is already erased.
 */
export async function lockToErase(tx: Tx, workerId: string): Promise<boolean> {
  const rows = await tx.rows<{ id: string }>(sql`
    select id from workers where id = ${workerId} and erased_at is null for update`)
  return rows.length === 1
}

/**
 * Erases the worker under the lock of `lockToErase`. The caller withdraws all granted consents
 * first.
 */
export async function eraseWorkerRows(tx: Tx, workerId: string, at: Date): Promise<void> {
  await tx.run(sql`delete from profiles where worker_id = ${workerId}`)
  await tx.run(sql`delete from consents where worker_id = ${workerId}`)
  await tx.run(sql`delete from identities where worker_id = ${workerId}`)
  await tx.run(sql`update consent_changes set actor = 'erased' where worker_id = ${workerId}`)
  await tx.run(sql`update identity_changes set actor = 'erased' where worker_id = ${workerId}`)
  await tx.run(sql`
    update workers set external_id = null, terms_version = null, terms_accepted_at = null,
      onboarded_at = null, erased_at = ${at}
    where id = ${workerId}`)
}
