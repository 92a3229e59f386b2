/**
 * Endpoints are created over HTTP through two processes at once, and their secrets appear only in
 * the answers to their owner.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { newKey, type TestKey } from '../support/build/keys.ts'
import { testRingText } from '../support/build/webhooks.ts'
import { noneYet, publishBatch } from '../support/fault/event-load.ts'
import { everythingStored, formsOf } from '../support/oracle/everything-stored.ts'
import { ask } from '../support/start/ask.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  assay,
  eventually,
  report,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'
import { startReceiver, testAuthority } from '../support/start/receiver.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const folder = temporaryFolder()
const caFile = join(folder, 'ca.pem')
writeFileSync(caFile, testAuthority().cert)
const activeMax = 5
const env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: 'https://scores.example.org',
  LOG_LEVEL: 'debug',
  METRICS_PORT: '0',
  SECRETS_KEYRING: testRingText,
  WEBHOOK_ENDPOINTS_MAX: String(activeMax),
  WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
  WEBHOOK_PORTS: 'any',
  WEBHOOK_CA_FILE: caFile,
}
const servers = await Promise.all([startServer(env), startServer(env)])
const path = '/api/v1/webhooks/endpoints'

interface Created {
  endpoint: { id: string; url: string }
  signingSecret: string
}

/**
 * Sends concurrent creations, alternating between the processes. All share the Idempotency-Key
 * `shared`, or each has its own.
 */
async function createMany(
  key: TestKey,
  count: number,
  { url, shared }: { url: string; shared?: string },
) {
  const create = async (i: number): Promise<{ status: number; text: string }> => {
    const headers = {
      ...key.headers,
      'Content-Type': 'application/json',
      'Idempotency-Key': shared ?? randomUUID(),
    }
    const body = JSON.stringify({ url, events: ['score.updated'] })
    for (;;) {
      const reply = await ask(servers[i % 2]?.base ?? '', { method: 'POST', path, headers, body })
      // A busy machine may answer 503. Then send the request again with the same key.
      if (reply.status !== 503) return { status: reply.status, text: reply.body.toString() }
    }
  }
  return Promise.all(Array.from({ length: count }, (_, i) => create(i)))
}

const listed = async (key: TestKey): Promise<unknown[]> => {
  const { body } = await ask(servers[0].base, { path, headers: key.headers })
  return JSON.parse(body.toString()).endpoints
}

test('50 concurrent identical creations through two processes: 50 × 201, one endpoint, one secret', async () => {
  const key = await newKey(db)
  const url = 'https://hooks.example.com/in'
  const replies = await createMany(key, 50, { url, shared: randomUUID() })
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
  assert.equal((await listed(key)).length, 1)
})

test('20 concurrent creations at one below the maximum, through two processes: exactly the maximum', async () => {
  const key = await newKey(db)
  const url = 'https://hooks.example.com/in'
  for (let i = 1; i < activeMax; i++) await createMany(key, 1, { url })
  const statuses = (await createMany(key, 20, { url })).map(({ status }) => status)
  assert.deepEqual(
    statuses.toSorted((a, b) => a - b),
    [201, ...Array.from({ length: 19 }, () => 409)],
  )
  assert.equal((await listed(key)).length, activeMax)
})

test('no secret of an endpoint is in the database, debug logs, metrics or command output, in any encoding', async () => {
  const receiver = await startReceiver(['127.0.0.1'], (response, { path, headers, body }) =>
    // One endpoint echoes the request, the other fails.
    response.writeHead(path === '/echo' ? 200 : 500).end(JSON.stringify({ headers, body })),
  )
  after(() => receiver.close())
  const key = await newKey(db)
  const shared = randomUUID()
  const made: Created[] = []
  for (const name of ['echo', 'fails']) {
    const url = `https://127.0.0.1:${receiver.port}/${name}`
    // The receiver has an IP address instead of a host name, which WEBHOOK_ALLOW_CIDRS permits.
    const words = [
      'webhooks',
      'create',
      url,
      '--account',
      key.accountId,
      '--event',
      'score.updated',
    ]
    made.push((await report(words, env)) as unknown as Created)
  }
  const url = 'https://hooks.example.com/in'
  const [first, replayed] = await createMany(key, 2, { url, shared })
  assert.equal(first?.text, replayed?.text)
  made.push(JSON.parse(first?.text ?? ''))
  const [echo, fails, named] = made.map(({ endpoint }) => endpoint.id)
  assert.ok(echo && fails && named)
  const rotated = await report(['webhooks', 'rotate-secret', echo], env)
  const again = await assay(['webhooks', 'rotate-secret', echo], env)
  assert.match(again.err, /run `assay webhooks replace-secret`/)
  const atOnce = await assay(['webhooks', 'rotate-secret', fails, '--hours', '0'], env)
  assert.match(
    atOnce.out,
    /It signs from now on\. For a day, the old one signs a header beside it\./,
  )
  const replaced = await report(['webhooks', 'replace-secret', echo, '--yes'], env)
  const action = 'webhooks.secret_replaced'
  const audited = await report(['audit', 'list', '--action', action], env)
  assert.partialDeepStrictEqual(audited.entries, [{ action, subjects: JSON.stringify([echo]) }])

  await publishBatch(db, noneYet(), { count: 5, isRolledBack: false })
  await eventually('they arrive', { see: async () => receiver.received.length >= 10 })
  await ask(servers[0].base, { method: 'DELETE', path: `${path}/${named}`, headers: key.headers })
  await report(['webhooks', 'reencrypt'], env)

  const outputs: string[] = []
  for (const words of [
    ['webhooks', 'endpoints', '--all'],
    ['webhooks', 'deliveries', echo],
    ['webhooks', 'deliveries', fails],
    ['audit', 'list'],
  ]) {
    const { out, err } = await assay([...words, '--json'], env)
    outputs.push(out, err)
  }
  for (const server of servers) {
    const port = /"metricsPort":(\d+).*"msg":"listening"/.exec(server.out())?.[1]
    const { body } = await ask(`http://127.0.0.1:${port}`, { path: '/metrics' })
    outputs.push(body.toString())
    server.signal('SIGTERM')
    assert.equal(await server.ended, 0)
    outputs.push(server.out(), server.err())
  }
  const dump = await everythingStored(database.url)
  assert.ok(dump.includes(echo) && dump.includes('http_status'), 'the dump has what happened')
  const secrets = [...made, rotated, replaced].map(({ signingSecret }) => String(signingSecret))
  assert.equal(new Set(secrets).size, 5)
  for (const form of secrets.flatMap(formsOf))
    for (const text of [dump, ...outputs])
      assert.ok(!text.toLowerCase().includes(form.toLowerCase()), `${form} is told`)
})
