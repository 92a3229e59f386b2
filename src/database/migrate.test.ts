import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { emptyDatabase } from '../../test/support/start/database.ts'
import { sql } from '../platform/db/db.ts'
import { migrate, pendingMigrations } from './migrate.ts'

const now = new Date('2026-05-14T09:00:00Z')
const first = { '0001_a.sql': 'create table a (id int); create table b (id int)' }
const second = { ...first, '0002_c.sql': 'insert into a values (1)' }

function directory(files: Record<string, string>): string {
  const path = mkdtempSync(join(tmpdir(), 'assay-migrations-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  after(() => rmSync(path, { recursive: true }))
  return path
}

async function database() {
  const created = await emptyDatabase()
  after(() => created.drop())
  return created
}

test('missing migrations are applied in order, once, with the time they were given', async () => {
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

test('a database that is ahead of the release is refused', async () => {
  const { url } = await database()
  await migrate(url, directory(second), now)
  await assert.rejects(migrate(url, directory(first), now), /0002_c\.sql, this release has not/)
})

test('a migration that fails leaves nothing of itself, and what came before it stays', async () => {
  const { url, db } = await database()
  const broken = directory({ ...first, '0002_c.sql': 'create table c (id int); select 1/0' })
  await assert.rejects(migrate(url, broken, now), /division by zero/)
  const [found] = await db.rows(
    sql`select to_regclass('b') is not null as b, to_regclass('c') as c`,
  )
  assert.deepEqual(found, { b: true, c: null })
  assert.deepEqual(await pendingMigrations(db, broken), ['0002_c.sql'])
})

test('eight processes at once: every migration is applied by exactly one of them', async () => {
  const { url, db } = await database()
  const files = directory(second)
  const done = await Promise.all(Array.from({ length: 8 }, () => migrate(url, files, now)))
  assert.deepEqual(done.flat().sort(), ['0001_a.sql', '0002_c.sql'])
  const rows = await db.rows(sql`select id from a`)
  assert.equal(rows.length, 1)
})

test('a gap in the numbers, a number used twice and a wrong name are refused before anything is applied', async () => {
  const { url, db } = await database()
  for (const names of [['0002_a.sql'], ['0001_a.sql', '0001_b.sql'], ['1_a.sql'], ['0001-a.sql']]) {
    const files = directory(Object.fromEntries(names.map((name) => [name, 'select 1'])))
    await assert.rejects(migrate(url, files, now), /expected a name like/)
  }
  assert.deepEqual(await pendingMigrations(db, directory(first)), ['0001_a.sql'])
})
