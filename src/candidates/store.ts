/** All SQL of search_entries, search_terms, search_queue and search_vocabulary. Triggers of the database write there too: see the migration. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { Card, Search } from './card.ts'
import type { OtherLabels } from './skill-names.ts'
import type { Posting } from './terms.ts'

/** Whom this transaction has changed so far; they are not in the queue any more. */
export async function takeOwnMarks(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    delete from search_queue where marked_in = pg_current_xact_id_if_assigned()
    returning worker_id as "workerId"`)
  return rows.map((row) => row.workerId)
}

/** Some of those that others have left behind; another worker skips them. */
export async function takeMarks(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    delete from search_queue where worker_id in (
      select worker_id from search_queue order by worker_id limit ${limit} for update skip locked)
    returning worker_id as "workerId"`)
  return rows.map((row) => row.workerId)
}

export interface NewEntry {
  workerId: string
  username: string
  card: Card
  postings: readonly Posting[]
}

/** Puts people into the index, in place of what stands there of any of `workerIds`. */
export async function replaceEntries(
  tx: Tx,
  workerIds: readonly string[],
  entries: readonly NewEntry[],
): Promise<void> {
  await tx.run(sql`select search_forget(${workerIds}::uuid[])`)
  if (entries.length === 0) return
  const rows = entries.flatMap(({ username, postings }, i) =>
    postings.map((posting) => ({ place: i + 1, username, ...posting })),
  )
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((r) => r[name])
  // No join: how many there are is not known when it is planned.
  await tx.run(sql`
    with posted as (
      select * from unnest(${column('place')}::int[], ${column('username')}::text[],
        ${column('kind')}::smallint[], ${column('term')}::text[], ${column('rank')}::smallint[])
        as new(place, username, kind, term, rank)
    ), entry as (
      insert into search_entries (worker_id, username, card, kinds, terms, ranks)
      select (${entries.map((entry) => entry.workerId)}::uuid[])[place], min(username),
        (${entries.map((entry) => JSON.stringify(entry.card))}::text[])[place],
        array_agg(kind), array_agg(term), array_agg(rank)
      from posted group by place
    )
    insert into search_terms (kind, term, rank, username)
    select kind, term, rank, username from posted order by kind, term collate "C", rank`)
}

/** A search, and where else than under its own text the index has what it finds. */
export interface Lookup extends Search, OtherLabels {}

/** Returns the cards of each search, best match first (decision D35). */
export async function findCards(db: Queryable, lookups: readonly Lookup[]): Promise<Card[][]> {
  const rows = await db.rows<{ cards: string }>(sql`
    select search_cards(${lookups.map(({ text }) => text)}::text[],
      ${lookups.map(({ handlesAlone }) => handlesAlone)}::boolean[],
      ${lookups.map(({ limit }) => limit)}::int[],
      ${lookups.map(({ same }) => same.join('\n'))}::text[],
      ${lookups.map(({ akin }) => akin.join('\n'))}::text[],
      ${lookups.map(() => null)}::pg_snapshot[], ${lookups.map(() => null)}::text[]) as cards`)
  return rows.map(({ cards }) => JSON.parse(cards))
}

/** Says whether the index was built with other names than these, and from now on these count: everybody in it is put into the queue. */
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
