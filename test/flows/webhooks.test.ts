/**
 * Webhooks as an operator runs them: `serve` delivers, and commands show, replay, pause and rotate.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { verifySignature } from '../../src/webhooks/delivery/attempt-request.ts'
import { eventTypes } from '../../src/webhooks/events/event-types.ts'
import { publishEvents } from '../../src/webhooks/events/outbox.ts'
import { beforeRival } from '../support/fault/rival.ts'
import { testDatabase } from '../support/start/database.ts'
import { get } from '../support/start/deployment.ts'
import { assay, eventually, report, spawnAssay, startServer } from '../support/start/processes.ts'
import { type Received, startReceiver, testAuthority } from '../support/start/receiver.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const folder = mkdtempSync(join(tmpdir(), 'assay-webhooks-'))
after(() => rmSync(folder, { recursive: true }))
const caFile = join(folder, 'ca.pem')
writeFileSync(caFile, testAuthority().cert)

const env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: 'https://scores.example.org',
  SECRETS_KEYRING: `k1:${randomBytes(32).toString('base64')}`,
  WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
  WEBHOOK_PORTS: 'any',
  WEBHOOK_CA_FILE: caFile,
}

const receiver = await startReceiver(['127.0.0.1'], (response) => response.end())
after(() => receiver.close())

/** Publishes an event and returns the id of its worker. */
async function happen(): Promise<string> {
  const workerId = randomUUID()
  const data = { ...eventTypes['score.updated'].example, workerId }
  await db.transaction((tx) =>
    publishEvents(tx, [{ type: 'score.updated', workerId, data }], new Date()),
  )
  return workerId
}

async function arrived(count: number): Promise<Received> {
  while (receiver.received.length < count) await new Promise((resolve) => setTimeout(resolve, 10))
  return receiver.received[count - 1] ?? assert.fail('nothing arrived')
}

function verifies({ headers, body }: Received, secret: unknown, name = 'signature'): boolean {
  const header = String(headers[`service-webhook-${name}`])
  const nowSeconds = Date.now() / 1_000
  return verifySignature(header, { secret: String(secret), body, nowSeconds })
}

test('a signed event arrives within a second of its commit; commands show deliveries and control the next ones', async () => {
  await report(['accounts', 'create', 'acme'], env)
  const url = `https://127.0.0.1:${receiver.port}/hook`
  const created = await report(
    ['webhooks', 'create', url, '--account', 'acme', '--event', 'score.updated'],
    env,
  )
  const { endpoint, signingSecret } = created as unknown as {
    endpoint: { id: string }
    signingSecret: string
  }
  const command = (...words: string[]) => report(['webhooks', ...words], env)
  const service = await startServer(env)
  await happen()
  const rival = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await get(service.base, '/readyz')
  }
  const first = await beforeRival({ what: 'an event arrives', withinMs: 1_000, rival }, arrived(1))
  assert.ok(verifies(first, signingSecret))
  const eventId = String(first.headers['service-webhook-id'])

  await command('resend', endpoint.id, eventId)
  const again = await arrived(2)
  assert.equal(again.body, first.body)

  await command('pause', endpoint.id)
  await happen()
  await command('resume', endpoint.id)
  await arrived(3)

  const rotated = await command('rotate-secret', endpoint.id)
  await happen()
  const announced = await arrived(4)
  assert.ok(verifies(announced, signingSecret))
  assert.ok(verifies(announced, rotated.signingSecret, 'signature-next'))
  await command('activate-secret', endpoint.id)
  await happen()
  assert.ok(verifies(await arrived(5), rotated.signingSecret))

  const limited = await command('limit', endpoint.id, '--per-second', '50', '--at-once', '2')
  assert.deepEqual([limited.perSecond, limited.atOnce], [50, 2])
  const { endpoints } = await command('endpoints')
  assert.match(JSON.stringify(endpoints), /"perSecond":50/)
  const unlimited = await command('limit', endpoint.id, '--per-second', 'off')
  assert.equal(unlimited.perSecond, null)

  await command('disable', endpoint.id, '--yes')
  const since = new Date().toISOString()
  await happen()
  // Otherwise the event could be fanned out after the endpoint is enabled, and be sent in the
  // ordinary way.
  await eventually('the event is fanned out', {
    see: async () =>
      (await db.rows(sql`select from webhook_events where position is null`)).length === 0,
  })
  await command('enable', endpoint.id)
  const replayed = await command('replay', endpoint.id, '--since', since)
  assert.equal(replayed.queued, 1)
  await arrived(6)

  const { deliveries } = await command('deliveries', endpoint.id)
  assert.ok(Array.isArray(deliveries) && deliveries.length >= 5)
  assert.doesNotMatch(JSON.stringify(deliveries), /whsec_|v1=/)
  service.signal('SIGTERM')
  assert.equal(await service.ended, 0)

  const audit = await report(['audit', 'list'], env)
  const result = JSON.stringify(audit)
  for (const action of [
    'resent',
    'paused',
    'resumed',
    'rotated',
    'secret_activated',
    'limited',
    'enabled',
    'replayed',
  ])
    assert.ok(result.includes(`webhooks.${action}`), action)
  assert.equal((await report(['audit', 'verify'], env)).ok, true)
})

test('webhook commands name the error: no id, no endpoint, a time too far back', async () => {
  const nobody = randomUUID()
  for (const [words, exitCode, message] of [
    [['pause', 'nonsense'], 2, /UUID/],
    [['pause', nobody], 1, /no such webhook endpoint/],
    [['resend', nobody, 'evt_1'], 2, /event-id must be the id of an event/],
    [['resend', nobody, `evt_${'0'.repeat(32)}`], 1, /no such webhook endpoint/],
    [['show', nobody], 1, /no such webhook endpoint/],
    [['test', nobody], 1, /no such webhook endpoint/],
    [['replace-secret', nobody], 2, /Add --yes/],
    [['replay', nobody, '--since', 'yesterday'], 2, /--since/],
    [['replay', nobody, '--since', '2020-01-01'], 2, /14 days/],
    [['rotate-secret', nobody, '--hours', '169'], 2, /--hours/],
    [['activate-secret', nobody], 1, /no such webhook endpoint/],
    [['limit', nobody, '--per-second', '5'], 1, /no such webhook endpoint/],
    [['limit', nobody], 2, /--per-second/],
    [['limit', nobody, '--per-second', '1001'], 2, /1 to 1000/],
    [['limit', nobody, '--at-once', '0'], 2, /1 to 16/],
  ] as const) {
    const { ended, out, err } = await assay(['webhooks', ...words], env)
    assert.equal(ended, exitCode, words.join(' '))
    assert.match(out + err, message)
  }
})

test('a separate jobs process delivers for servers without jobs and ends on SIGTERM', async () => {
  const before = receiver.received.length
  const server = await startServer(env, ['--no-jobs'])
  await happen()
  const jobs = spawnAssay(['jobs'], env)
  const ended = new Promise((resolve) => jobs.once('exit', resolve))
  await eventually('the event arrives', {
    see: async () => receiver.received.length > before,
  })
  jobs.kill('SIGTERM')
  assert.equal(await ended, 0)
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0)
})

test('a failing endpoint is shown with its error, also by doctor; an endpoint that answers 410 is disabled', async () => {
  const statuses: Record<string, number> = { '/broken': 500, '/left': 410 }
  const answering = await startReceiver(['127.0.0.1'], (response, { path }) =>
    response.writeHead(statuses[path] ?? 200).end(),
  )
  after(() => answering.close())
  await report(['accounts', 'create', 'failing'], env)
  const create = async (path: string) => {
    const url = `https://127.0.0.1:${answering.port}${path}`
    const words = ['webhooks', 'create', url, '--account', 'failing', '--event', 'score.updated']
    const { endpoint } = (await report(words, env)) as unknown as { endpoint: { id: string } }
    return endpoint.id
  }
  const [broken, left] = [await create('/broken'), await create('/left')]
  const none = await assay(['webhooks', 'failing'], env)
  assert.deepEqual([none.ended, none.out], [0, 'No webhook endpoint fails.\n'])

  // No delivery is retried during the test.
  const service = await startServer({ ...env, WEBHOOK_RETRY_SCHEDULE: '86400' })
  for (let i = 0; i < 3; i++) await happen()
  const { value: shown } = await eventually('the endpoint counts as failing', {
    see: async () => {
      const result = await report(['webhooks', 'failing', '--account', 'failing'], env)
      return (result.endpoints as { id: string; health: Record<string, unknown> }[])[0]
    },
  })
  assert.equal(shown?.id, broken)
  const { consecutiveFailures, responseStatus, errorCode, waiting } = shown.health
  assert.deepEqual(
    { consecutiveFailures, responseStatus, errorCode, waiting },
    { consecutiveFailures: 3, responseStatus: 500, errorCode: 'http_status', waiting: 3 },
  )
  const { out } = await assay(['webhooks', 'failing'], env)
  assert.match(out, new RegExp(` 3 +500 http_status +3 +${broken}$`, 'm'))
  const doctor = await assay(['doctor'], env)
  assert.match(doctor.out, /^warn +webhooks +1 of \d+ endpoints? fails?.*assay webhooks failing/m)
  const { endpoint } = await report(['webhooks', 'show', broken], env)
  assert.partialDeepStrictEqual(endpoint, {
    consecutiveFailures: 3,
    waiting: 3,
    account: 'failing',
  })
  const tested = await report(['webhooks', 'test', broken, '--event', 'dispute.opened'], env)
  assert.match(String(tested.eventId), /^evt_test_/)
  const soon = await assay(['webhooks', 'test', broken, '--json'], env)
  assert.deepEqual([soon.ended, JSON.parse(soon.out).error], [1, 'rate_limited'])

  await eventually('the endpoint that answers 410 is disabled', {
    see: async () => /answered 410/.test(service.out()),
  })
  const { entries } = await report(['audit', 'list', '--action', 'webhooks.given_up'], env)
  const [entry] = entries as { actor: string; subjects: string; details: string }[]
  assert.deepEqual(
    [entry?.actor, entry?.subjects, entry?.details],
    ['service', JSON.stringify([left]), '{"reason":"gone"}'],
  )
  assert.equal((await report(['audit', 'verify'], env)).ok, true)
  service.signal('SIGTERM')
  assert.equal(await service.ended, 0)
})

test('a server without a key ring still serves the feed', async () => {
  const workerId = await happen()
  await report(['accounts', 'create', 'pulling'], env)
  const words = ['api-keys', 'create', 'pulling', '--scope', 'webhooks:write']
  const { key } = await report(words, env)
  const server = await startServer({ ...env, SECRETS_KEYRING: '' })
  const headers = { Authorization: `Bearer ${String(key)}` }
  await eventually('the event is in the feed', {
    see: async () => {
      const answer = await fetch(`${server.base}/api/v1/webhooks/events?limit=100`, { headers })
      return (await answer.text()).includes(workerId)
    },
  })
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0)
})

test('doctor: reports events that wait because no process sends them', async () => {
  const workerId = randomUUID()
  const data = { ...eventTypes['score.updated'].example, workerId }
  const longAgo = new Date(Date.now() - 120_000)
  await db.transaction((tx) =>
    publishEvents(tx, [{ type: 'score.updated', workerId, data }], longAgo),
  )
  const { out } = await assay(['doctor'], env)
  assert.match(out, /^warn +webhooks +events wait since .*: start `assay serve`/m)
})
