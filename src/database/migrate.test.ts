import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { beforeRival } from '../../test/support/fault/rival.ts'
import { emptyDatabase } from '../../test/support/start/database.ts'
import { eventually } from '../../test/support/start/processes.ts'
import { type Db, sql } from '../platform/db/db.ts'
import { compareSchema, migrate } from './migrate.ts'

const now = new Date('2026-05-14T09:00:00Z')
const first = { '0001_a.sql': 'create table a (id int); create table b (id int)' }
const second = { ...first, '0002_c.sql': 'insert into a values (1)' }

function directory(files: Record<string, string>): string {
  const path = mkdtempSync(join(tmpdir(), 'assay-migrations-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  after(() => rmSync(path, { recursive: true }))
  return path
}

async function pendingMigrations(db: Db, path: string): Promise<string[]> {
  return (await compareSchema(db, path)).pending
}

async function database() {
  const created = await emptyDatabase()
  after(() => created.drop())
  return created
}

test('missing migrations are applied in order, once, and recorded with the given time', async () => {
  const { url, db } = await database()
  assert.deepEqual(await pendingMigrations(db, directory(first)), ['0001_a.sql'])
  assert.deepEqual(await migrate(url, directory(first), now), ['0001_a.sql'])
  assert.deepEqual(await pendingMigrations(db, directory(second)), ['0002_c.sql'])
  assert.deepEqual(await migrate(url, directory(second), now), ['0002_c.sql'])
  assert.deepEqual(await migrate(url, directory(second), now), [])
  assert.deepEqual(await pendingMigrations(db, directory(second)), [])
  const applied = await db.rows(
    sql`select name, length(sha256) as "hexDigits", applied_at as "appliedAt" from schema_migrations order by name`,
  )
  assert.deepEqual(applied, [
    { name: '0001_a.sql', hexDigits: 64, appliedAt: now },
    { name: '0002_c.sql', hexDigits: 64, appliedAt: now },
  ])
})

test('an applied file that was edited is refused by name', async () => {
  const { url, db } = await database()
  await migrate(url, directory(first), now)
  const edited = directory({ '0001_a.sql': 'create table a (id bigint)' })
  await assert.rejects(migrate(url, edited, now), /0001_a\.sql was edited/)
  await assert.rejects(pendingMigrations(db, edited), /0001_a\.sql was edited/)
})

test('a database with a different migration under the same number is refused', async () => {
  const { url, db } = await database()
  await migrate(url, directory(second), now)
  const other = directory({ ...first, '0002_d.sql': 'select 1' })
  await assert.rejects(
    migrate(url, other, now),
    /made by an unreleased version \(it has 0002_c\.sql, .* 0002_d\.sql\): start with/,
  )
  await assert.rejects(compareSchema(db, other), /0002_c\.sql/)
})

test('a release that does not know the newest migrations works beside them and leaves them alone', async () => {
  const { url, db } = await database()
  await migrate(url, directory(second), now)
  const older = directory(first)
  assert.deepEqual(await migrate(url, older, now), [])
  const comparison = { pending: [], newer: ['0002_c.sql'], outdated: null }
  assert.deepEqual(await compareSchema(db, older), comparison)
})

test('a contracting migration shuts out only releases that end before the migration it names', async () => {
  const { url, db } = await database()
  const third = {
    ...second,
    '0003_d.sql': '-- Drops b.\n-- contract: nodes that know 0002 or later\ndrop table b',
    '0004_e.sql': 'create table e (id int)',
  }
  await migrate(url, directory(third), now)
  assert.equal((await compareSchema(db, directory(second))).outdated, null)
  assert.equal((await compareSchema(db, directory(third))).outdated, null)
  const { outdated } = await compareSchema(db, directory(first))
  assert.match(String(outdated), /knows migration 0002, and this one ends at 0001/)
  await assert.rejects(migrate(url, directory(first), now), /^Error: Nothing was changed: .* 0002/)
})

test('a contract line that names an impossible migration is refused before any migration is applied', async () => {
  const { url, db } = await database()
  for (const header of [
    '-- contract: nodes that know 0003 or later',
    '-- contract: nodes that know 0000 or later',
    '-- contract: nodes that know 2 or later',
    '--contract nodes that know 0001 or later',
    '-- Contract: everyone',
  ]) {
    const files = directory({ ...first, '0002_c.sql': `${header}\ndrop table a` })
    await assert.rejects(migrate(url, files, now), /0002_c\.sql: write `-- contract: nodes that/)
  }
  assert.deepEqual(await pendingMigrations(db, directory(first)), ['0001_a.sql'])
})

test('a migration that waits for a table in use lets other statements on that table pass', async () => {
  const { url, db } = await database()
  await migrate(url, directory(first), now)
  const held = Promise.withResolvers<void>()
  const holding = Promise.withResolvers<void>()
  const reader = db.transaction(async (tx) => {
    await tx.rows(sql`select from a`)
    holding.resolve()
    await held.promise
  })
  await holding.promise
  const adding = directory({ ...first, '0002_c.sql': 'alter table a add column more int' })
  const migrating = migrate(url, adding, now)
  await eventually('the migration waits for the table', {
    see: async () =>
      (await db.rows(sql`select 1 from pg_locks where relation = 'a'::regclass and not granted`))
        .length > 0,
  })
  // If the migration waited for its lock without a limit, this statement would wait until the
  // reader ends.
  const rival = () => db.rows(sql`select from b`)
  try {
    const passing = db.rows(sql`select from a`)
    await beforeRival({ what: 'the statement passes', withinMs: 5_000, rival }, passing)
    assert.deepEqual((await compareSchema(db, adding)).pending, ['0002_c.sql'])
  } finally {
    held.resolve()
  }
  await reader
  assert.deepEqual(await migrating, ['0002_c.sql'])
})

test('a failed migration is rolled back whole, and the migrations before it stay', async () => {
  const { url, db } = await database()
  const broken = directory({ ...first, '0002_c.sql': 'create table c (id int); select 1/0' })
  await assert.rejects(migrate(url, broken, now), /division by zero/)
  const [found] = await db.rows(
    sql`select to_regclass('b') is not null as b, to_regclass('c') as c`,
  )
  assert.deepEqual(found, { b: true, c: null })
  assert.deepEqual(await pendingMigrations(db, broken), ['0002_c.sql'])
})

test('eight processes migrate at once: exactly one applies each migration', async () => {
  const { url, db } = await database()
  const files = directory(second)
  const done = await Promise.all(Array.from({ length: 8 }, () => migrate(url, files, now)))
  assert.deepEqual(done.flat().sort(), ['0001_a.sql', '0002_c.sql'])
  const rows = await db.rows(sql`select id from a`)
  assert.equal(rows.length, 1)
})

test('a gap in the numbers, a repeated number and a malformed name are refused before any migration is applied', async () => {
  const { url, db } = await database()
  for (const names of [['0002_a.sql'], ['0001_a.sql', '0001_b.sql'], ['1_a.sql'], ['0001-a.sql']]) {
    const files = directory(Object.fromEntries(names.map((name) => [name, 'select 1'])))
    await assert.rejects(migrate(url, files, now), /expected a name like/)
  }
  assert.deepEqual(await pendingMigrations(db, directory(first)), ['0001_a.sql'])
})
