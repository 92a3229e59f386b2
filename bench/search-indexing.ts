/**
 * Measures how many candidates a second enter the filled index over two connections, as the service
 * does it. The limit beside it: PostgreSQL alone copies the same rows into `search_terms` from
 * another table.
 */
import { type Db, openDb, sql, type Tx } from '../src/platform/db/db.ts'
import { insertEntries, insertTerms, type NewEntry } from '../src/workers/candidates/store.ts'
import type { Finding } from './measure.ts'

export interface IndexingOrder {
  /** Number of candidates; the copy uses about as many more. */
  workers: number
  entryOf(n: number): NewEntry
  /** The first candidate that is not in the index. */
  from: number
}

/** Batch size of an import. */
const batchSize = 256
const atOnce = 2

export async function indexing(url: string, order: IndexingOrder): Promise<Finding[]> {
  const db = openDb({
    url,
    connectionsMax: atOnce,
    applicationName: 'bench',
    statementTimeoutMs: 0,
    onError: () => {},
  })
  const batches = Math.ceil(order.workers / batchSize)
  const made = (batch: number): NewEntry[] =>
    Array.from({ length: batchSize }, (_, i) => order.entryOf(order.from + batch * batchSize + i))
  const ours = Array.from({ length: batches }, (_, batch) => made(batch))
  const indexed = await perSecond(ours, (entries) =>
    db.transaction((tx) => addEntries(tx, entries)),
  )
  await db.run(sql`
    create unlogged table bench_terms (batch int, kind match_kind, term text collate "C", rank smallint, username text collate "C")`)
  for (let batch = 0; batch < batches; batch++) await stage(db, batch, made(batches + batch))
  await db.run(sql`create index on bench_terms (batch, kind, term, rank)`)
  await db.run(sql`analyze bench_terms`)
  const copied = await perSecond([...ours.keys()], (batch) => copy(db, batch))
  await db.run(sql`drop table bench_terms`)
  await db.close()
  return [
    {
      name: 'put into the index, two batches at a time',
      value: indexed,
      unit: 'people/s',
      target: { min: 8_000 },
    },
    { name: 'their rows copied by PostgreSQL alone', value: copied, unit: 'people/s' },
    { name: 'put into the index / copied', value: indexed / copied, unit: '×' },
  ]
}

export async function addEntries(tx: Tx, entries: readonly NewEntry[]): Promise<void> {
  await insertEntries(tx, entries)
  await insertTerms(
    tx,
    entries.map(({ workerId }) => workerId),
  )
}

async function stage(db: Db, batch: number, entries: readonly NewEntry[]): Promise<void> {
  const rows = entries.flatMap(({ username, postings }) =>
    postings.map((posting) => ({ username, ...posting })),
  )
  await db.run(sql`
    insert into bench_terms
    select ${batch}::int, * from unnest(${rows.map(({ kind }) => kind)}::match_kind[], ${rows.map(({ term }) => term)}::text[],
      ${rows.map(({ rank }) => rank)}::smallint[], ${rows.map(({ username }) => username)}::text[])`)
}

async function copy(db: Db, batch: number): Promise<void> {
  await db.run(sql`
    insert into search_terms (kind, term, rank, username)
    select kind, term, rank, username from bench_terms where batch = ${batch} order by kind, term, rank`)
}

async function perSecond<Batch>(
  batches: readonly Batch[],
  index: (batch: Batch) => Promise<void>,
): Promise<number> {
  const left = [...batches]
  const work = async (): Promise<void> => {
    for (let batch = left.pop(); batch !== undefined; batch = left.pop()) await index(batch)
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: atOnce }, work))
  return (batches.length * batchSize * 1_000) / (performance.now() - startedAt)
}
