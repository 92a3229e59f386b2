/**
 * All SQL of search_entries, search_terms, search_queue and search_vocabulary. Triggers of
 * migrations/0015_search.sql write there too.
 */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { Place, Search, SearchHit } from './search-hit.ts'
import type { Posting } from './terms.ts'

/**
 * Removes the workers that this transaction has queued from the queue, and returns them. `sparesNew`
 * leaves those in the queue that search did not find before.
 */
export async function takeOwnQueued(tx: Tx, sparesNew: boolean): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    delete from search_queue where marked_in = pg_current_xact_id_if_assigned()
      and not (is_new and ${sparesNew})
    returning worker_id as "workerId"`)
  return rows.map((row) => row.workerId)
}

/**
 * Removes up to `limit` workers from the queue, and returns them. Skips workers that another
 * process is taking.
 */
export async function takeQueued(
  tx: Tx,
  { limit, takesNew }: { limit: number; takesNew: boolean },
): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    delete from search_queue where worker_id in (
      select worker_id from search_queue where ${takesNew} or not is_new
      order by worker_id limit ${limit} for update skip locked)
    returning worker_id as "workerId"`)
  return rows.map((row) => row.workerId)
}

export async function countQueued(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`select count(*) as count from search_queue`)
  return row?.count ?? 0
}

/** Keeps the jobs process from the new workers in the queue, until the transaction ends. */
export async function holdNewQueued(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock_shared(hashtext('search_queue'))`)
}

/**
 * Returns whether no import is going to index the new workers in the queue: none indexes any, and
 * the last one was queued some seconds ago. An import queues more every second.
 */
export async function areNewLeft(tx: Tx): Promise<boolean> {
  const [row] = await tx.rows<{ left: boolean }>(sql`
    select pg_try_advisory_xact_lock(hashtext('search_queue')) and coalesce((
      select queued_at < now() - interval '30 seconds' from search_queue
      where is_new order by marked_in desc limit 1), true) as left`)
  return row?.left ?? false
}

/** Returns the hits of those of the workers that search may find (`mayBeFound`). */
export function findListed(
  db: Queryable,
  workerIds: readonly string[],
): Promise<{ workerId: string; hit: SearchHit }[]> {
  return db.rows(sql`
    select p.worker_id as "workerId", json_build_object('username', p.username,
      'displayName', p.display_name, 'title', p.title, 'avatarUrl', p.avatar_url,
      'skills', (select coalesce(json_agg(json_build_object('name', s.name,
        'verified', s.verified, 'level', s.level) order by s.place), '[]')
        from profile_skills s where s.worker_id = p.worker_id)) as hit
    from profiles p
    where p.worker_id = any(${workerIds}::uuid[])
      and (select w.onboarded_at is not null from workers w where w.id = p.worker_id)
      and (select count(*) from consents c where c.worker_id = p.worker_id and c.granted
        and c.permission in ('public_profile', 'search_listing')) = 2`)
}

export interface NewEntry {
  workerId: string
  username: string
  hit: SearchHit
  postings: readonly Posting[]
}

/** Removes the workers from the index. */
export async function removeEntries(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`select search_remove(${workerIds}::uuid[])`)
}

/** Inserts entries of workers that have none. Their terms follow with `insertTerms`. */
export async function insertEntries(tx: Tx, entries: readonly NewEntry[]): Promise<void> {
  const arrays = (name: keyof Posting): string[] =>
    entries.map(({ postings }) => arrayText(postings.map((posting) => posting[name])))
  await tx.run(sql`
    insert into search_entries (worker_id, username, hit, kinds, terms, ranks)
    select worker_id, username, hit, kinds::match_kind[], terms::text[], ranks::smallint[]
    from unnest(${entries.map(({ workerId }) => workerId)}::uuid[],
      ${entries.map(({ username }) => username)}::text[],
      ${entries.map(({ hit }) => JSON.stringify(hit))}::text[], ${arrays('kind')}::text[],
      ${arrays('term')}::text[], ${arrays('rank')}::text[])
      as new(worker_id, username, hit, kinds, terms, ranks)`)
}

/** Writes an array as PostgreSQL reads it. */
function arrayText(values: readonly (string | number)[]): string {
  const quoted = (value: string | number) => `"${`${value}`.replace(/["\\]/g, '\\$&')}"`
  return `{${values.map(quoted).join(',')}}`
}

/**
 * Inserts the terms of entries, in the order of the index: the more entries, the more terms find
 * their page of the index in memory.
 */
export async function insertTerms(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`
    insert into search_terms (kind, term, rank, username)
    select posted.kind, posted.term, posted.rank, e.username
    from search_entries e, unnest(e.kinds, e.terms, e.ranks) as posted(kind, term, rank)
    where e.worker_id = any(${workerIds}::uuid[])
    order by posted.kind, posted.term collate "C", posted.rank`)
}

/** A search as migrations/0029_search_pages.sql describes it. */
export interface IndexSearch extends Pick<Search, 'handle' | 'handlesOnly'> {
  written: IndexTexts
  bare: IndexTexts
  bareDiffers: boolean
  after: Place
  limit: number
}

interface IndexTexts {
  orders: readonly string[]
  /** Terms of the index: the labels of skills with another name that equals the query. */
  exactLabels: readonly string[]
  /** Terms of the index: the labels of skills with another name that begins with the query. */
  prefixLabels: readonly string[]
}

/** Returns the hits of each search, best match first. */
export async function findHits(
  db: Queryable,
  searches: readonly IndexSearch[],
): Promise<SearchHit[][]> {
  const lists = (level: 'written' | 'bare', name: keyof IndexTexts) =>
    searches.map((search) => search[level][name].join('\n'))
  const rows = await db.rows<{ hits: string }>(sql`
    select search_pages(
      handles => ${searches.map(({ handle }) => handle)}::text[],
      handles_only => ${searches.map(({ handlesOnly }) => handlesOnly)}::boolean[],
      limits => ${searches.map(({ limit }) => limit)}::int[],
      orders => ${lists('written', 'orders')}::text[],
      exact_labels => ${lists('written', 'exactLabels')}::text[],
      prefix_labels => ${lists('written', 'prefixLabels')}::text[],
      bare_orders => ${lists('bare', 'orders')}::text[],
      bare_exact_labels => ${lists('bare', 'exactLabels')}::text[],
      bare_prefix_labels => ${lists('bare', 'prefixLabels')}::text[],
      bare_differs => ${searches.map(({ bareDiffers }) => bareDiffers)}::boolean[],
      after_sections => ${searches.map(({ after }) => after.section)}::smallint[],
      after_ranks => ${searches.map(({ after }) => after.rank)}::smallint[],
      after_usernames => ${searches.map(({ after }) => after.username)}::text[]
    ) as hits`)
  return rows.map(({ hits }) => JSON.parse(hits))
}

/**
 * Records the vocabulary. If the index was built with another one, queues all indexed workers and
 * returns true.
 */
export async function replaceVocabulary(tx: Tx, sha256: Buffer): Promise<boolean> {
  const changed = await tx.run(sql`
    insert into search_vocabulary (sha256) values (${sha256})
    on conflict (singleton) do update set sha256 = excluded.sha256
    where search_vocabulary.sha256 <> excluded.sha256`)
  if (changed === 0) return false
  await tx.run(sql`
    insert into search_queue (worker_id, marked_in)
    select worker_id, pg_current_xact_id() from search_entries
    on conflict (worker_id) do nothing`)
  return true
}
