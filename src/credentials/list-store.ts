/** All SQL of `status_lists`. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { Proof, ProofForm } from './proof.ts'

/**
 * Makes the given lists due for publication. Locks them in order of their id, so two bulk
 * revocations cannot deadlock. `for no key update` does not conflict with the foreign-key locks of
 * credentials that are being issued into the list.
 */
export async function raiseRevision(tx: Tx, listIds: readonly string[]): Promise<void> {
  await tx.run(sql`
    with found as (
      select list_id from status_lists where list_id = any(${listIds}::text[]) order by list_id
      for no key update
    )
    update status_lists l set revision = revision + 1 from found where l.list_id = found.list_id`)
}

export interface OpenList {
  listId: string
  credentials: number
}

/**
 * Returns the lists of this issuer that accept credentials. A list never holds credentials of two
 * issuers.
 */
export function findOpenLists(db: Queryable, issuer: string): Promise<OpenList[]> {
  return db.rows<OpenList>(sql`
    select list_id as "listId",
      (select count(*) from score_credentials c where c.list_id = l.list_id) as credentials
    from status_lists l where closed_at is null and issuer = ${issuer} order by list_id`)
}

export async function findOpenListIds(db: Queryable, issuer: string): Promise<string[]> {
  const rows = await db.rows<{ listId: string }>(sql`
    select list_id as "listId" from status_lists
    where closed_at is null and issuer = ${issuer} order by list_id`)
  return rows.map((row) => row.listId)
}

/** Lets one process at a time open and close lists. */
export async function lockStatusLists(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('status_lists'))`)
}

/**
 * Closes a list. It stays published until `afterlifeDays` after the last of its credentials
 * expires.
 */
export async function closeList(
  tx: Tx,
  listId: string,
  { at, afterlifeDays }: { at: Date; afterlifeDays: number },
): Promise<void> {
  await tx.run(sql`
    update status_lists set closed_at = ${at}, dies_at = ${afterlifeDays} * interval '1 day' +
      (select coalesce(max(valid_until), ${at}) from score_credentials where list_id = ${listId})
    where list_id = ${listId} and closed_at is null`)
}

export interface Publication {
  listId: string
  /** The published list contains all revocations up to this revision. */
  revision: number
  publishedAt: Date
  refreshAt: Date
  validUntil: Date
  /** The list without proof, as JSON text. */
  payload: string
  proofs: Record<ProofForm, Proof>
}

export async function insertList(tx: Tx, list: Publication): Promise<void> {
  await tx.run(sql`
    insert into status_lists (list_id, opened_at, published_revision, published_at, refresh_at,
      valid_until, payload, proofs)
    values (${list.listId}, ${list.publishedAt}, ${list.revision}, ${list.publishedAt},
      ${list.refreshAt}, ${list.validUntil}, ${list.payload}, ${JSON.stringify(list.proofs)})`)
}

export interface DueList {
  listId: string
  revision: number
  issuer: string
}

/**
 * Returns the next due list of these issuers and locks its row until the transaction ends. A
 * concurrent publisher skips the row. Issuing into the list continues.
 */
export async function takeDueList(
  tx: Tx,
  issuers: readonly string[],
  now: Date,
): Promise<DueList | undefined> {
  const [row] = await tx.rows<DueList>(sql`
    select list_id as "listId", revision, issuer from status_lists
    where issuer = any(${issuers}::text[]) and (revision > published_revision or refresh_at <= ${now})
      and (dies_at is null or dies_at > ${now})
    order by refresh_at limit 1 for no key update skip locked`)
  return row
}

export async function hasDueList(db: Queryable, now: Date): Promise<boolean> {
  const rows = await db.rows(sql`
    select from status_lists where (revision > published_revision or refresh_at <= ${now})
      and (dies_at is null or dies_at > ${now}) limit 1`)
  return rows.length > 0
}

export async function updatePublication(tx: Tx, list: Publication): Promise<void> {
  await tx.run(sql`
    update status_lists set published_revision = ${list.revision}, publication = publication + 1,
      published_at = ${list.publishedAt}, refresh_at = ${list.refreshAt},
      valid_until = ${list.validUntil}, payload = ${list.payload},
      proofs = ${JSON.stringify(list.proofs)}
    where list_id = ${list.listId}`)
}

/**
 * Makes every list due that is still published. Locks the lists in the order of `raiseRevision`.
 */
export async function raiseAllRevisions(tx: Tx, at: Date): Promise<void> {
  await tx.run(sql`
    with found as (
      select list_id from status_lists where dies_at is null or dies_at > ${at} order by list_id
      for no key update
    )
    update status_lists l set revision = revision + 1 from found where l.list_id = found.list_id`)
}

export interface PublishedList
  extends Pick<Publication, 'listId' | 'validUntil' | 'payload' | 'proofs'> {
  publication: number
}

/**
 * Returns every published list. `fresh` is null if the caller already has the current publication.
 */
export function findPublications(
  db: Queryable,
  known: { listIds: readonly string[]; publications: readonly number[] },
): Promise<(Pick<PublishedList, 'listId'> & { fresh: Omit<PublishedList, 'listId'> | null })[]> {
  return db.rows(sql`
    select l.list_id as "listId",
      case when l.publication is distinct from k.publication then json_build_object(
        'publication', l.publication, 'validUntil', l.valid_until, 'payload', l.payload,
        'proofs', l.proofs) end as fresh
    from status_lists l
    left join unnest(${known.listIds}::text[], ${known.publications}::bigint[]) as k(list_id, publication)
      using (list_id)
    where l.dies_at is null or l.dies_at > now()`)
}
