/**
 * Brings a database to the shape this release expects: numbered SQL files, each in its own transaction, each once.
 * Any number of processes may do it at once: they take turns on a lock that ends with the transaction.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { columnTypes, type Queryable, sql, type Tx, txOf } from '../platform/db/db.ts'

interface Migration {
  name: string
  text: string
  sha256: string
}

type Applied = Pick<Migration, 'name' | 'sha256'>

/** "assay" as a number: one lock for all who migrate this database. */
const lockId = 0x61737361

/**
 * Applies what is missing, in order, and returns the names of what it applied. Throws, and changes nothing more, when an applied
 * file was edited, or when the database has migrations this release does not know. Open connections keep the plans they have
 * prepared: migrate before listening.
 */
export function migrate(url: string, directory: string, now: Date): Promise<string[]> {
  return migrateRecorded(url, { directory, record: () => Promise.resolve() }, now)
}

export interface Recorded {
  directory: string
  /** Called in the transaction of each migration, with the names of all that the database has then. */
  record(tx: Tx, names: readonly string[]): Promise<void>
}

/** The same, and what is recorded of a migration is committed with it. */
export async function migrateRecorded(
  url: string,
  { directory, record }: Recorded,
  now: Date,
): Promise<string[]> {
  const migrations = readMigrations(directory)
  const client = new Client({
    connectionString: url,
    application_name: 'assay migrate',
    types: columnTypes,
  })
  await client.connect()
  try {
    const done: string[] = []
    for (const _ of migrations) {
      const name = await applyNext(client, { migrations, record }, now)
      if (name === null) break
      done.push(name)
    }
    return done
  } finally {
    await client.end()
  }
}

/** The names of the migrations that `migrate` would apply. Throws where it would. */
export async function pendingMigrations(db: Queryable, directory: string): Promise<string[]> {
  const [table] = await db.rows<{ exists: boolean }>(
    sql`select to_regclass('schema_migrations') is not null as "exists"`,
  )
  const applied = table?.exists
    ? await db.rows<Applied>(sql`select name, sha256 from schema_migrations order by name`)
    : []
  return pendingOf(readMigrations(directory), applied).map((migration) => migration.name)
}

async function applyNext(
  client: Client,
  { migrations, record }: Pick<Recorded, 'record'> & { migrations: Migration[] },
  now: Date,
) {
  await client.query('begin')
  try {
    await client.query('select pg_advisory_xact_lock($1)', [lockId])
    await client.query(`set local client_min_messages = warning;
      create table if not exists schema_migrations (
        name text primary key, sha256 text not null, applied_at timestamptz not null
      )`)
    const applied = await client.query<Applied>(
      'select name, sha256 from schema_migrations order by name',
    )
    const [next] = pendingOf(migrations, applied.rows)
    if (next !== undefined) {
      await client.query(next.text)
      await client.query('insert into schema_migrations values ($1, $2, $3)', [
        next.name,
        next.sha256,
        now,
      ])
      await record(txOf(client), [...applied.rows.map(({ name }) => name), next.name])
    }
    await client.query('commit')
    return next?.name ?? null
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

function pendingOf(migrations: Migration[], applied: Applied[]): Migration[] {
  for (const [i, { name, sha256 }] of applied.entries()) {
    const migration = migrations[i]
    if (migration?.name !== name)
      throw new Error(`The database has the migration ${name}, this release has not.`)
    if (migration.sha256 !== sha256)
      throw new Error(`The migration ${name} was edited after it was applied: add a new one.`)
  }
  return migrations.slice(applied.length)
}

function readMigrations(directory: string): Migration[] {
  const names = readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  return names.map((name, i) => {
    const number = String(i + 1).padStart(4, '0')
    if (!new RegExp(`^${number}_[a-z0-9_]+\\.sql$`).test(name))
      throw new Error(`${join(directory, name)}: expected a name like ${number}_what_it_adds.sql.`)
    const text = readFileSync(join(directory, name), 'utf8')
    return { name, text, sha256: sha256Hex(text) }
  })
}
