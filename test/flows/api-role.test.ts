/** A database role of its own for a server that only answers: it does its work, and reaches nothing private (`assay migrate --api-role`). */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { openReporting } from '../../src/agent-decisions/report.ts'
import { readReportRequest } from '../../src/agent-decisions/report-request.ts'
import { requestUnlockReview } from '../../src/agent-decisions/unlock.ts'
import { apiRights } from '../../src/api-role.ts'
import { openDb, sql } from '../../src/platform/db.ts'
import { createEndpoint } from '../../src/webhooks/create-endpoint.ts'
import { disableEndpoint } from '../../src/webhooks/disable-endpoint.ts'
import { readFeed } from '../../src/webhooks/feed.ts'
import { publicUrl } from '../support/credentials.ts'
import { onServer, testDatabase } from '../support/database.ts'
import { get, issue, scoreLine, statusOf, verify } from '../support/deployment.ts'
import { assay, type Env, report, startServer, temporaryFolder } from '../support/processes.ts'

const database = await testDatabase()
const { db } = database
const role = `assay_api_${randomBytes(6).toString('hex')}`
await onServer(database.url, `create role ${role} login`)
const folder = temporaryFolder()
const owner: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
}
const asRole = new URL(database.url)
asRole.username = role

let client: Client | undefined
after(async () => {
  await client?.end()
  await database.drop()
  await onServer(process.env.ASSAY_TEST_SERVER ?? '', `drop role ${role}`)
})

test('1: a role that is not there, or that can reach everything, is told and given nothing', async () => {
  const missing = await assay(['migrate', '--api-role', 'nobody_here'], owner)
  assert.equal(missing.ended, 1)
  assert.match(missing.err, /no role nobody_here/)
  const mighty = await assay(['migrate', '--api-role', 'pg_read_all_data'], owner)
  assert.equal(mighty.ended, 1)
  assert.match(mighty.err, /Nothing was granted: .*evidence_private/)
  const [row] = await db.rows<{ granted: boolean }>(
    sql`select has_table_privilege('pg_read_all_data', 'rate_windows', 'insert') as granted`,
  )
  assert.equal(row?.granted, false)
  assert.equal((await assay(['migrate', '--status', '--api-role', role], owner)).ended, 2)
  const { DATABASE_URL: _, ...embedded } = owner
  assert.equal((await assay(['migrate', '--api-role', role], embedded)).ended, 2)
})

test('every table says what a server may do with it', async () => {
  const tables = await db.rows<{ name: string }>(
    sql`select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm', 'p')`,
  )
  assert.deepEqual(
    tables.map(({ name }) => name).filter((name) => !Object.hasOwn(apiRights, name)),
    [],
    'add these tables to src/api-role.ts',
  )
  assert.deepEqual(
    Object.keys(apiRights).filter((table) => tables.every(({ name }) => name !== table)),
    [],
    'these tables of src/api-role.ts are not there',
  )
})

test('permission denied: all that is private, and every change of what is only read', async () => {
  assert.equal((await report(['migrate', '--api-role', role], owner)).apiRole, role)
  client = new Client({ connectionString: asRole.href })
  await client.connect()
  const denied = async (statement: string): Promise<void> => {
    await assert.rejects(client?.query(statement) ?? Promise.resolve(), (error: Error) => {
      // A view of several tables takes no change from anybody.
      assert.match(error.message, /^(permission denied for table|cannot .+ view) /, statement)
      return true
    })
  }
  let tried = 0
  for (const [table, rights] of Object.entries(apiRights)) {
    const statements = {
      select: `select * from ${table}`,
      insert: `insert into ${table} default values`,
      update: `update ${table} set ${await firstColumn(table)} = default`,
      delete: `delete from ${table}`,
    }
    for (const right of ['select', 'insert', 'update', 'delete'] as const) {
      if (rights.includes(right)) continue
      tried++
      await denied(statements[right])
    }
  }
  assert.ok(tried > 50, `${tried} statements tried`)
  await denied('select payload from evidence_private')
  await denied('truncate evidence')
})

async function firstColumn(table: string): Promise<string> {
  const [column] = await db.rows<{ name: string }>(sql`
    select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum = 1`)
  return column?.name ?? ''
}

test('a right that was given by hand is taken back by the next run', async () => {
  await onServer(database.url, `grant select on evidence_private to ${role}`)
  await report(['migrate', '--api-role', role], owner)
  await assert.rejects(client?.query('select payload from evidence_private') ?? Promise.resolve())
})

test('what the routes of webhooks and agent decisions do, the role may do', async () => {
  const asServer = openDb({
    url: asRole.href,
    connectionsMax: 2,
    applicationName: 'as the role',
    onError: () => {},
  })
  const userId = randomUUID()
  const rules = { ring: new Map([['k1', randomBytes(32)]]), activeMax: 20 }
  const request = {
    url: 'https://hooks.example.com/',
    eventTypes: ['score.updated' as const],
    description: null,
  }
  const wish = { userId, request, idempotencyKey: randomUUID(), now: new Date() }
  const created = await createEndpoint(asServer, rules, wish)
  assert.ok('endpoint' in created)
  assert.equal((await createEndpoint(asServer, rules, wish)).outcome, 'replayed')
  const endpointId = created.endpoint.id
  const disabling = { endpointId, userId, reason: 'owner', now: new Date() } as const
  const disabled = await asServer.transaction((tx) => disableEndpoint(tx, disabling))
  assert.equal(disabled?.changed, true)
  assert.deepEqual((await readFeed(asServer, { types: 'score.updated', after: '1' }))?.events, [])
  const content = contentOf({ decision: 'hired', subject: { kind: 'candidate', username: 'ada' } })
  const decision = { userId, apiKeyId: null, content, idempotencyKey: randomUUID() }
  const report = openReporting(asServer, 'unlocked')
  assert.equal((await report({ ...decision, now: new Date() })).outcome, 'created')
  assert.equal((await report({ ...decision, now: new Date() })).outcome, 'replayed')
  const asking = { userId, stateUnlessSet: 'locked', now: new Date() } as const
  assert.equal((await requestUnlockReview(asServer, asking)).outcome, 'requested')
  await asServer.close()
})

function contentOf(body: object) {
  const read = readReportRequest(body)
  assert.ok('content' in read)
  return read.content
}

test('a server that connects as the role answers all there is', async () => {
  await report(['keys', 'create'], owner)
  const [credential] = await issue(owner, folder, [scoreLine()])
  assert.ok(credential !== undefined)
  const server = await startServer({ ...owner, DATABASE_URL: asRole.href }, ['--no-worker'])
  assert.equal((await get(server.base, '/readyz')).status, 200)
  assert.equal((await verify(server.base, credential)).body.valid, true)
  assert.equal((await statusOf(server.base, credential)).body.status, 'active')
  assert.doesNotMatch(server.out(), /permission denied/)
  server.signal('SIGINT')
  assert.equal(await server.ended, 0)
})
