/**
 * Brings a database to the schema of this release. Each numbered SQL file runs once, in its own
 * transaction. Any number of processes may migrate at once: they take turns on a lock that ends
 * with the transaction.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { type Db, openDb, type Queryable, sql, sqlState, type Tx } from '../platform/db/db.ts'
import type { Pooling } from '../platform/db/session-settings.ts'
import { deadlineMs } from '../platform/deadlines.ts'
import { UnavailableError } from '../platform/errors.ts'
import { findNodesFrom, numberOf, outdatedReason } from './schema-level.ts'

interface Migration {
  name: string
  text: string
  sha256: string
  /**
   * Number of the newest migration that a node must know to work beside this one, or null if every
   * node can.
   */
  nodesFrom: number | null
}

type Applied = Pick<Migration, 'name' | 'sha256'>

/** "assa" in ASCII: one advisory lock for every process that migrates this database. */
const lockId = 0x61737361

/**
 * Applies the missing migrations in order and returns their names. Leaves migrations of a newer
 * release alone if this release can work beside them. If an applied file was edited, or the
 * database needs a newer release, throws and changes nothing more.
 */
export function migrate(url: string, directory: string, now: Date): Promise<string[]> {
  return migrateRecorded(url, { directory, record: () => Promise.resolve() }, now)
}

export interface Recorded {
  directory: string
  /**
   * Called in the transaction of each migration, with the names of all migrations applied so far.
   */
  record(tx: Tx, names: readonly string[]): Promise<void>
  pooling?: Pooling
}

/** Migrates like `migrate`, and commits each record together with its migration. */
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
    connectionWaitMs: deadlineMs('migrationConnection'),
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

export interface SchemaComparison {
  /** Names of the migrations that `migrate` would apply. */
  pending: string[]
  /** Names of migrations of a newer release. */
  newer: string[]
  /** Why this release may not use the database, or null. */
  outdated: string | null
}

/**
 * Compares the database with the migrations of this release. Throws if an applied file was edited.
 */
export async function compareSchema(db: Queryable, directory: string): Promise<SchemaComparison> {
  const [table] = await db.rows<{ exists: boolean }>(
    sql`select to_regclass('schema_migrations') is not null as "exists"`,
  )
  const applied = table?.exists
    ? await db.rows<Applied>(sql`select name, sha256 from schema_migrations order by name`)
    : []
  const migrations = readMigrations(directory)
  return {
    pending: pendingOf(migrations, applied).map(({ name }) => name),
    newer: applied.slice(migrations.length).map(({ name }) => name),
    outdated: table?.exists ? outdatedReason(await findNodesFrom(db), migrations.length) : null,
  }
}

/**
 * Returns the number of the last migration in the directory, which is the schema level that this
 * release knows.
 */
export function knownLevel(directory: string): number {
  return readMigrations(directory).length
}

type Applying = Pick<Recorded, 'record'> & { migrations: Migration[] }

/**
 * While a migration waits for a table, every later statement on that table waits behind it. The
 * migration therefore gives up before those statements do, lets them pass, and tries again.
 */
const lockTimeoutMs = 200
const lockAttemptsMax = 1_000

async function applyNext(db: Db, applying: Applying, now: Date): Promise<string | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction((tx) => applyNextIn(tx, applying, now))
    } catch (error) {
      if (!isLockTimeout(error) || attempt === lockAttemptsMax) throw error
      await wait(lockTimeoutMs + Math.random() * lockTimeoutMs)
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof UnavailableError && sqlState(error.cause) === '55P03'
}

async function applyNextIn(
  tx: Tx,
  { migrations, record }: Applying,
  now: Date,
): Promise<string | null> {
  // Taken before the lock timeout is set: processes wait without limit for their turn to migrate.
  await tx.run(sql`select pg_advisory_xact_lock(${lockId})`)
  await runScript(
    tx,
    `set local lock_timeout = ${lockTimeoutMs}; set local client_min_messages = warning;
    create table if not exists schema_migrations (
      name text primary key, sha256 text not null, applied_at timestamptz not null, nodes_from integer
    )`,
  )
  const applied = await tx.rows<Applied>(
    sql`select name, sha256 from schema_migrations order by name`,
  )
  const [next] = pendingOf(migrations, applied)
  const outdated = outdatedReason(await findNodesFrom(tx), migrations.length)
  if (outdated !== null) throw new Error(`Nothing was changed: ${outdated}.`)
  if (next === undefined) return null
  await runScript(tx, next.text)
  await tx.run(sql`
    insert into schema_migrations (name, sha256, applied_at, nodes_from)
    values (${next.name}, ${next.sha256}, ${now}, ${next.nodesFrom})`)
  await record(tx, [...applied.map(({ name }) => name), next.name])
  return next.name
}

/** Runs several statements in one text. PostgreSQL cannot prepare such a text. */
async function runScript(tx: Tx, text: string): Promise<void> {
  await tx.run({ text, name: '', values: [] })
}

function pendingOf(migrations: Migration[], applied: Applied[]): Migration[] {
  for (const [i, { name, sha256 }] of applied.entries()) {
    const migration = migrations[i]
    if (migration === undefined) break
    if (migration.name !== name)
      throw new Error(
        `The database was made by an unreleased version (it has ${name}, this release has ${migration.name}): start with a new ASSAY_DATA_DIR, or with an empty database in DATABASE_URL.`,
      )
    if (migration.sha256 !== sha256)
      throw new Error(
        `The migration ${name} was edited after it was applied. Restore the file and add a new one.`,
      )
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
    return { name, text, sha256: sha256Hex(text), nodesFrom: nodesFromOf(name, text, i + 1) }
  })
}

/** Reads the line `-- contract: nodes that know 0040 or later`. */
function nodesFromOf(name: string, text: string, level: number): number | null {
  const header = /^--\s*contract\b.*$/im.exec(text)?.[0]
  if (header === undefined) return null
  const nodesFrom = Number(/^-- contract: nodes that know (\d{4}) or later$/.exec(header)?.[1])
  if (nodesFrom >= 1 && nodesFrom <= level) return nodesFrom
  throw new Error(
    `${name}: write \`-- contract: nodes that know NNNN or later\`, with a number up to ${numberOf(level)}, instead of ${JSON.stringify(header)}.`,
  )
}
