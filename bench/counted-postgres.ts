/**
 * An embedded PostgreSQL that waits for its disk and counts its statements with the bundled
 * `pg_stat_statements`.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EmbeddedPostgres } from '../src/database/embedded/embedded-postgres.ts'
import { type Db, sql } from '../src/platform/db/db.ts'
import { startPostgres } from './children.ts'

const settings = `
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track_utility = off
`

export async function startCounted(dataDir: string): Promise<EmbeddedPostgres> {
  const start = () => startPostgres({ dataDir, durable: true })
  // The first start creates the cluster.
  await (await start()).stop()
  appendFileSync(join(dataDir, 'postgres', 'postgresql.conf'), settings)
  return start()
}

export interface Counts {
  /** Each is a round trip. */
  statements: number
  /** Statements that charge; each waits for the disk once. */
  charging: number
}

export function allowCounting(db: Db): Promise<number> {
  return db.run(sql`create extension pg_stat_statements`)
}

export async function beginCounting(db: Db): Promise<void> {
  await db.run(sql`select pg_stat_statements_reset()`)
}

export async function counted(db: Db): Promise<Counts> {
  const [counts] = await db.rows<Counts>(sql`
    select coalesce(sum(calls), 0)::bigint as statements,
      coalesce(sum(calls) filter (where query like '%insert into credit_entries%'), 0)::bigint as charging
    from pg_stat_statements where query not like '%pg_stat_statements%'`)
  if (counts === undefined) throw new Error('PostgreSQL did not count')
  return counts
}
