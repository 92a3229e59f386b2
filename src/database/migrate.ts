/**
 * Brings a database to the shape this release expects: numbered SQL files, each in its own transaction, each once.
 * Any number of processes may do it at once: they take turns on a lock that ends with the transaction.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { type Db, openDb, type Queryable, sql, sqlState, type Tx } from '../platform/db/db.ts'
import type { Pooling } from '../platform/db/session-settings.ts'
import { UnavailableError } from '../platform/http/errors.ts'

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
  pooling?: Pooling
}

const connectionWaitMs = 10_000

/** The same, and what is recorded of a migration is committed with it. */
export async function migrateRecorded(
  url: string,
  { directory, record, pooling = 'session' }: Recorded,
  now: Date,
): Promise<string[]> {
  const migrations = readMigrations(directory)
  const db = openDb({
    url,
    pooling,
    connectionsMax: 1,
    applicationName: 'assay migrate',
    statementTimeoutMs: 0,
    connectionWaitMs,
    onError: () => {},
  })
  try {
    const done: string[] = []
    for (const _ of migrations) {
      const name = await applyNext(db, { migrations, record }, now)
      if (name === null) break
      done.push(name)
    }
    return done
  } finally {
    await db.close()
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

type Applying = Pick<Recorded, 'record'> & { migrations: Migration[] }

/**
 * A migration that waits for a table makes every later statement on that table wait behind it. So it gives up before callers do, lets
 * them pass, and tries again.
 */
const lockTimeoutMs = 200
const lockAttemptsMax = 1_000

async function applyNext(db: Db, applying: Applying, now: Date): Promise<string | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction((tx) => applyInside(tx, applying, now))
    } catch (error) {
      if (!isLockTimeout(error) || attempt === lockAttemptsMax) throw error
      await wait(lockTimeoutMs + Math.random() * lockTimeoutMs)
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof UnavailableError && sqlState(error.cause) === '55P03'
}

async function applyInside(
  tx: Tx,
  { migrations, record }: Applying,
  now: Date,
): Promise<string | null> {
  // Other processes that migrate take their turn without a limit of time.
  await tx.run(sql`select pg_advisory_xact_lock(${lockId})`)
  await runScript(
    tx,
    `set local lock_timeout = ${lockTimeoutMs}; set local client_min_messages = warning;
    create table if not exists schema_migrations (
      name text primary key, sha256 text not null, applied_at timestamptz not null
    )`,
  )
  const applied = await tx.rows<Applied>(
    sql`select name, sha256 from schema_migrations order by name`,
  )
  const [next] = pendingOf(migrations, applied)
  if (next === undefined) return null
  await runScript(tx, next.text)
  await tx.run(
    sql`insert into schema_migrations (name, sha256, applied_at) values (${next.name}, ${next.sha256}, ${now})`,
  )
  await record(tx, [...applied.map(({ name }) => name), next.name])
  return next.name
}

/** Several statements in one text, which cannot be prepared. */
async function runScript(tx: Tx, text: string): Promise<void> {
  await tx.run({ text, name: '', values: [] })
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
