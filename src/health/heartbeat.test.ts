import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { addWorkers } from '../../test/support/build/evidence.ts'
import { onServer, testDatabase } from '../../test/support/start/database.ts'
import { databaseRole } from '../../test/support/start/database-role.ts'
import { systemClock } from '../platform/clock.ts'
import { openDb, sql, sqlState } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { renewImport } from '../scoring/evidence/recomputation-store.ts'
import { deleteOldHeartbeats, findBacklog, findHeartbeats, openHeartbeat } from './heartbeat.ts'
import { findStatusChanges, statusRecorder } from './status-record.ts'

const database = await testDatabase()
const { db } = database
const role = await databaseRole(database.url)
after(async () => {
  await role.drop()
  await database.drop()
})
await onServer(database.url, `grant select, insert, update on process_heartbeats to ${role.name}`)

/** Each call opens connections anew, which get the present settings of the role. */
function heartbeatAsRole() {
  const opened = openDb({
    url: role.url,
    connectionsMax: 1,
    applicationName: 'heartbeat test',
    onError: () => {},
  })
  after(() => opened.close())
  return openHeartbeat({
    db: opened,
    clock: systemClock,
    release: '1.2.3',
    abilities: async () => ({ serves: true, signs: false, opensSecrets: true, jobs: null }),
  })
}

test('a hundred probes write one heartbeat a second', async () => {
  const heartbeat = heartbeatAsRole()
  const xmins = new Set<string>()
  const beganAt = performance.now()
  for (let beats = 0; beats < 100; beats += 2) {
    await Promise.all([heartbeat.beat(), heartbeat.beat()])
    const [row] = await db.rows<{ xmin: string }>(sql`select xmin::text from process_heartbeats`)
    xmins.add(row?.xmin ?? '')
  }
  const seconds = (performance.now() - beganAt) / 1_000
  assert.ok(xmins.size <= 1 + seconds, `${xmins.size} writes in ${seconds} s`)
  const [found] = await findHeartbeats(db)
  assert.deepEqual([found?.release, found?.serves, found?.jobs], ['1.2.3', true, null])
  await heartbeat.end()
  assert.notEqual((await findHeartbeats(db))[0]?.endedAt, null)
})

test('a server without writes, and one whose disk is full, take no heartbeat', async () => {
  for (const [setting, state] of [
    ['default_transaction_read_only = on', '25006'],
    // PostgreSQL refuses temporary files as it does on a full disk.
    ['temp_file_limit = 0', '53400'],
  ] as const) {
    await onServer(database.url, `alter role ${role.name} set ${setting}`)
    await assert.rejects(heartbeatAsRole().beat(), (error: Error) => {
      assert.equal(sqlState(error.cause ?? error), state)
      return true
    })
    await onServer(database.url, `alter role ${role.name} reset all`)
  }
  await heartbeatAsRole().beat()
})

test('old heartbeats are deleted, except the last one of a process with jobs', async () => {
  await db.run(sql`delete from process_heartbeats`)
  const insert = (pid: number, jobs: string | null) =>
    db.run(sql`
      insert into process_heartbeats values (gen_random_uuid(), 'one', ${pid}, '1', '2026-01-01',
        '2026-01-01'::timestamptz + ${pid} * interval '1 minute', null, true, true, true, ${jobs}::jsonb)`)
  await insert(1, '{}')
  await insert(2, '{}')
  await insert(3, null)
  assert.equal(await deleteOldHeartbeats(db, new Date()), 2)
  assert.deepEqual(
    (await findHeartbeats(db)).map(({ pid }) => pid),
    [2],
  )
})

test('an empty database has no backlog', async () => {
  assert.deepEqual(await findBacklog(db), {
    scoreDueSince: null,
    eventUndispatchedSince: null,
    listPublishedAt: null,
    mailsWaiting: 0,
    disputesOverdue: 0,
    apiKeysEnding: 0,
    booksDiffering: 0,
    scoresWithoutCredential: 0,
    isArchiveFailing: false,
    paymentsUnresolved: 0,
  })
})

test('a worker is due in the backlog once no import that names it runs, or after ten minutes', async () => {
  await addWorkers(db, 1)
  const now = Date.now()
  const ago = (seconds: number) => new Date(now - seconds * 1_000)
  const importId = uuidV7(new Date(now))
  const markedAt = async (since: Date) => {
    await db.run(sql`delete from score_recomputations`)
    await db.run(sql`
      insert into score_recomputations (worker_id, since, reason, imports)
      select id, ${since}, 'evidence_added', array[${importId}::uuid] from workers`)
    return (await findBacklog(db)).scoreDueSince
  }
  await db.transaction((tx) => renewImport(tx, importId, ago(0)))
  assert.equal(await markedAt(ago(300)), null)
  assert.deepEqual(await markedAt(ago(601)), ago(601))
  // A crash leaves the row of the import behind.
  await db.transaction((tx) => renewImport(tx, importId, ago(11)))
  assert.deepEqual(await markedAt(ago(300)), ago(300))
})

test('the history of the status holds each change once, and tells an outage of the database from one of the jobs', async () => {
  let now = new Date('2026-05-14T09:00:00Z')
  const clock = () => now
  const wait = (seconds: number) => {
    now = new Date(now.getTime() + seconds * 1_000)
  }
  let isLate = false
  const facts = async () => ({
    hasJobs: true,
    jobs: ['fan out events', 'deliver webhooks'].map((name) => ({ name, isLate })),
  })
  const jobsProcess = () => {
    const [job] = statusRecorder({ db, clock }, facts)
    return () => job?.run(new AbortController().signal)
  }
  const [first, second] = [jobsProcess(), jobsProcess()]
  const history = async () =>
    (await findStatusChanges(db, new Date(0))).map(({ part, state, beganAt, endedAt }) => [
      part,
      state,
      beganAt.toISOString().slice(11, 19),
      endedAt?.toISOString().slice(11, 19) ?? null,
    ])
  await first()
  isLate = true
  wait(10)
  await Promise.all([first(), second(), second()])
  assert.deepEqual(await history(), [['webhooks', 'fails', '09:00:10', null]])
  isLate = false
  wait(10)
  await first()
  assert.deepEqual(await history(), [['webhooks', 'fails', '09:00:10', '09:00:20']])
  wait(300)
  await jobsProcess()()
  assert.deepEqual((await history()).slice(1), [
    ['mail', 'fails', '09:00:20', '09:05:20'],
    ['scoring', 'fails', '09:00:20', '09:05:20'],
    ['webhooks', 'fails', '09:00:20', '09:05:20'],
  ])
  wait(120)
  await first()
  const outage = (await history()).slice(4)
  assert.equal(outage.length, 7, 'this process lived, so the database was away')
  assert.ok(outage.every(([, state, from]) => state === 'fails' && from === '09:05:20'))
  wait(10)
  await second()
  assert.equal((await history()).length, 11)
})
