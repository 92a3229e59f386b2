/**
 * All SQL of search_entries, search_terms, search_queue and search_vocabulary. Triggers of
 * migrations/0015_search.sql write there too.
 */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { Place, Search, SearchHit } from './search-hit.ts'
import type { Posting } from './terms.ts'

/** Removes the workers that this transaction has queued from the queue, and returns them. */
export async function takeOwnQueued(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    delete from search_queue where marked_in = pg_current_xact_id_if_assigned()
    returning worker_id as "workerId"`)
  return rows.map((row) => row.workerId)
}

/**
 * Removes up to `limit` workers from the queue, and returns them. Skips workers that another
 * process is taking.
 */
export async function takeQueued(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    delete from search_queue where worker_id in (
      select worker_id from search_queue order by worker_id limit ${limit} for update skip locked)
    returning worker_id as "workerId"`)
  return rows.map((row) => row.workerId)
}

export interface NewEntry {
  workerId: string
  username: string
  hit: SearchHit
  postings: readonly Posting[]
}

/** Removes the entries of `workerIds` from the index and adds `entries`. */
export async function replaceEntries(
  tx: Tx,
  workerIds: readonly string[],
  entries: readonly NewEntry[],
): Promise<void> {
  await tx.run(sql`select search_remove(${workerIds}::uuid[])`)
  if (entries.length === 0) return
  const rows = entries.flatMap(({ username, postings }, i) =>
    postings.map((posting) => ({ place: i + 1, username, ...posting })),
  )
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((r) => r[name])
  // No join: the planner does not know the number of rows and could choose a slow one.
  await tx.run(sql`
    with posted as (
      select * from unnest(${column('place')}::int[], ${column('username')}::text[],
        ${column('kind')}::match_kind[], ${column('term')}::text[], ${column('rank')}::smallint[])
        as new(place, username, kind, term, rank)
    ), entry as (
      insert into search_entries (worker_id, username, hit, kinds, terms, ranks)
      select (${entries.map((entry) => entry.workerId)}::uuid[])[place], min(username),
        (${entries.map((entry) => JSON.stringify(entry.hit))}::text[])[place],
        array_agg(kind), array_agg(term), array_agg(rank)
      from posted group by place
    )
    insert into search_terms (kind, term, rank, username)
    select kind, term, rank, username from posted order by kind, term collate "C", rank`)
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
