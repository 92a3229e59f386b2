import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { Client } from 'pg'
import { emptyDatabase, testDatabase } from '../../test/support/start/database.ts'
import { migrate, migrateRecorded } from '../database/migrate.ts'
import { openDb, sql } from '../platform/db/db.ts'
import type { Action } from './actions.ts'
import { genesis } from './chain.ts'
import { operator, recordAction, recordMigrations, verifyLog } from './record.ts'
import { findEntries, findHead } from './store.ts'

const database = await testDatabase()
const { db } = database
const owner = new Client({ connectionString: database.url })
await owner.connect()
after(async () => {
  await owner.end()
  await database.drop()
})

beforeEach(() => unguarded('delete from audit_log'))

const at = new Date('2026-05-14T09:00:00.750Z')
const kid = `z6Mk${'A'.repeat(44)}`
const details = { credentials: 'revoked' } as const
const revoked: Action = { action: 'keys.revoked', subjects: [kid], details }
const actor = 'ada@assay-1'

/** Runs a statement without triggers and foreign keys, as an intruder with all rights would. */
async function unguarded(statement: string): Promise<void> {
  await owner.query('begin; set local session_replication_role = replica')
  try {
    await owner.query(statement)
  } finally {
    await owner.query('commit')
  }
}

async function record(times: number): Promise<void> {
  for (let i = 0; i < times; i++)
    await db.transaction((tx) => recordAction(tx, { ...revoked, actor }, at))
}

const head = async () => (await findHead(db)) ?? genesis
const verify = (expected: string | null = null) => verifyLog(db, { expected, pageRows: 3 })

async function brokenAt(expected: string | null = null): Promise<number> {
  const verification = await verify(expected)
  assert.ok(!verification.whole, 'the log is found broken')
  return verification.broken.seq
}

test('an empty log and a log of several pages verify, and the head is the last entry', async () => {
  assert.deepEqual(await verify(), { whole: true, head: genesis, since: null })
  await record(7)
  assert.deepEqual(await verify(), { whole: true, head: await head(), since: null })
  assert.equal((await head()).seq, 7)
})

test('a change of any column of any row by SQL is found, and the row is named', async () => {
  await record(7)
  const changes = {
    at: `'2026-05-14T09:00:00.751Z'`,
    actor: `actor || ' '`,
    action: `'keys.rotated'`,
    subjects: `'[]'`,
    details: `details || ' '`,
    prev_hash: `set_byte(prev_hash, 31, 255 - get_byte(prev_hash, 31))`,
    hash: `set_byte(hash, 0, 255 - get_byte(hash, 0))`,
  }
  const { rows } = await owner.query(
    `select column_name as name from information_schema.columns
     where table_name = 'audit_log' and is_generated = 'NEVER'`,
  )
  const names = rows.map((row: { name: string }) => row.name).sort()
  assert.deepEqual(names, [...Object.keys(changes), 'seq'].sort())
  for (let seq = 1; seq <= 7; seq++)
    for (const [column, value] of Object.entries(changes)) {
      // A check constraint fixes prev_hash of the first row.
      if (seq === 1 && column === 'prev_hash') continue
      await unguarded(`create temp table kept as select * from audit_log where seq = ${seq}`)
      await unguarded(`update audit_log set ${column} = ${value} where seq = ${seq}`)
      assert.equal(await brokenAt(), seq, `${column} of ${seq}`)
      await unguarded(`update audit_log set ${column} = kept.${column} from kept
        where audit_log.seq = kept.seq; drop table kept`)
      assert.equal((await verify()).whole, true)
    }
})

test('a renumbered row and a row removed in the middle are found, and the missing number is named', async () => {
  await record(7)
  await unguarded('update audit_log set seq = 70 where seq = 5')
  assert.equal(await brokenAt(), 5)
  await unguarded(
    'update audit_log set seq = 5 where seq = 70; delete from audit_log where seq = 3',
  )
  assert.equal(await brokenAt(), 3)
})

test('a cut-off end is found only with a head that was kept elsewhere', async () => {
  await record(7)
  const { hash } = await head()
  assert.deepEqual(await verify(hash), { whole: true, head: await head(), since: 0 })
  await unguarded('delete from audit_log where seq > 5')
  assert.equal((await verify()).whole, true)
  assert.equal(await brokenAt(hash), 6)
})

test('a head that was kept elsewhere stays valid while the log grows, also the head of an empty log', async () => {
  await record(2)
  const { hash } = await head()
  await record(5)
  assert.deepEqual(await verify(hash), { whole: true, head: await head(), since: 5 })
  assert.deepEqual(await verify(genesis.hash), { whole: true, head: await head(), since: 7 })
})

test('a log that was rewritten as a whole is found only with a head that was kept elsewhere', async () => {
  await record(3)
  const { hash } = await head()
  await unguarded('delete from audit_log')
  await db.transaction((tx) => recordAction(tx, { ...revoked, actor: 'eve@assay-1' }, at))
  await record(2)
  assert.equal((await verify()).whole, true)
  assert.equal((await verify(hash)).whole, false)
})

test('ten connections that append at once make one unbroken chain', async () => {
  const many = openDb({
    url: database.url,
    connectionsMax: 10,
    applicationName: 'ten',
    statementTimeoutMs: 60_000,
    onError: () => {},
  })
  try {
    const one = () => many.transaction((tx) => recordAction(tx, { ...revoked, actor }, at))
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let i = 0; i < 20; i++) await one()
      }),
    )
  } finally {
    await many.close()
  }
  assert.deepEqual(await verify(), { whole: true, head: await head(), since: null })
  assert.equal((await head()).seq, 200)
})

test('a transaction that rolls back leaves neither an entry nor a gap', async () => {
  await record(1)
  const failing = db.transaction(async (tx) => {
    await recordAction(tx, { ...revoked, actor }, at)
    throw new Error('the work failed')
  })
  await assert.rejects(failing, /the work failed/)
  assert.equal((await head()).seq, 1)
  await record(1)
  assert.deepEqual(await verify(), { whole: true, head: await head(), since: null })
})

test('UPDATE, DELETE and TRUNCATE are refused, with and without matching rows', async () => {
  await record(1)
  const refused = [
    sql`update audit_log set actor = 'eve'`,
    sql`update audit_log set actor = 'eve' where seq = 99`,
    sql`delete from audit_log`,
    sql`truncate audit_log`,
    sql`delete from account_audit`,
  ]
  for (const statement of refused)
    await assert.rejects(db.run(statement), /append-only/, statement.text)
})

test('a gap and a fork are refused by constraints of the table', async () => {
  await record(2)
  const insert = (seq: number, prevHash: string) =>
    db.run(sql`
      insert into audit_log (seq, at, actor, action, subjects, details, prev_hash, hash)
      values (${seq}, '2026-05-14T09:00:00.750Z', 'eve', 'a.b', '[]', '{}',
        decode(${prevHash}, 'hex'), decode(${'ab'.repeat(32)}, 'hex'))`)
  const { hash } = await head()
  const [first] = await findEntries(db, { since: null, action: null, limit: 2 }).then((entries) =>
    entries.slice(-1),
  )
  await assert.rejects(insert(4, hash), /foreign key/)
  await assert.rejects(insert(3, first?.hash ?? ''), /foreign key/)
  await assert.rejects(insert(2, first?.hash ?? ''), /duplicate key/)
  await assert.rejects(insert(1, 'ab'.repeat(32)), /check constraint|duplicate key/)
})

test('undeclared subjects or details throw, and the message repeats nothing of them', async () => {
  const secret = 'svc_live_secret'
  const wrong = [
    { ...revoked, subjects: [secret] },
    { ...revoked, details: { note: secret } },
    { action: 'keys.burned', subjects: [], details: {} },
  ] as unknown as Action[]
  for (const action of wrong) {
    const recording = db.transaction((tx) => recordAction(tx, { ...action, actor }, at))
    await assert.rejects(recording, (error: Error) => !error.message.includes(secret))
  }
  assert.equal((await head()).seq, 0)
})

test('the operator is USER@HOST', () => assert.match(operator(), /^.+@.+$/))

test('migrations are recorded by the migration that creates the log, each once; a later migration records itself', async () => {
  const fresh = await emptyDatabase()
  try {
    const directory = 'migrations'
    const recording = (now: Date) =>
      migrateRecorded(
        fresh.url,
        { directory, record: (tx, names) => recordMigrations(tx, names, now) },
        now,
      )
    const applied = await recording(at)
    assert.deepEqual(await recording(at), [])
    const entries = await findEntries(fresh.db, {
      since: null,
      action: 'database.migrated',
      limit: 100,
    })
    assert.deepEqual(
      entries.reverse().flatMap(({ subjects }) => JSON.parse(subjects)),
      applied,
    )
    assert.equal((await verifyLog(fresh.db, { expected: null })).whole, true)
  } finally {
    await fresh.drop()
  }
})

test('migrations that were applied without an entry are recorded by the next migration', async () => {
  const fresh = await emptyDatabase()
  try {
    const names = await migrate(fresh.url, 'migrations', at)
    await fresh.db.transaction((tx) => recordMigrations(tx, names, at))
    await fresh.db.transaction((tx) => recordMigrations(tx, names, at))
    const entries = await findEntries(fresh.db, { since: null, action: null, limit: 10 })
    assert.deepEqual(
      entries.map(({ subjects, details }) => [JSON.parse(subjects), JSON.parse(details)]),
      [[names, { count: names.length }]],
    )
  } finally {
    await fresh.drop()
  }
})
