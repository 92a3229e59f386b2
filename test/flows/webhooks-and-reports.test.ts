/**
 * Webhook endpoints and agent decision reports from the command line, with the audit entry of each
 * change.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openReporting } from '../../src/reports/report.ts'
import { readReportRequest } from '../../src/reports/report-request.ts'
import { requestReview } from '../support/build/reports.ts'
import { installation } from '../support/start/installation.ts'

const command = await installation()
const { db } = command

const ringOf = (...kids: string[]) =>
  kids.map((kid) => `${kid}:${Buffer.alloc(32, kid).toString('base64')}`).join(',')

/** Runs a command with `--json` and returns its report and exit code. */
async function report(args: string[], keyring = ringOf('k1')) {
  command.env.SECRETS_KEYRING = keyring
  const { code, out } = await command.run([...args, '--json'])
  return { code, ...JSON.parse(out) }
}

async function newAccount(): Promise<{ id: string; name: string }> {
  const name = `customer ${randomUUID()}`
  return { id: (await report(['accounts', 'create', name])).account.id, name }
}

async function lastEntry(action: string) {
  const { entries } = await report(['audit', 'list', '--action', action, '--limit', '1'])
  return entries[0]
}

const url = 'https://hooks.example.com/in'
const create = (account: string, ...more: string[]) =>
  report(['webhooks', 'create', url, '--account', account, '--event', 'score.updated', ...more])

test('an endpoint is created, shown and disabled once; every step is in the audit log, its secret is not', async () => {
  const account = await newAccount()
  const { code, endpoint, signingSecret } = await create(account.name, '--description', 'Payroll')
  assert.equal(code, 0)
  assert.match(signingSecret, /^whsec_[A-Za-z0-9]{43}$/)
  assert.equal(endpoint.userId, account.id)
  const listed = await report(['webhooks', 'endpoints', '--account', account.name])
  assert.deepEqual(listed.endpoints, [
    { ...endpoint, account: account.name, disabledReason: null, perSecond: null },
  ])
  const asked = await report(['webhooks', 'disable', endpoint.id])
  assert.deepEqual([asked.code, /Add --yes/.test(asked.message)], [2, true])
  const dry = await report(['webhooks', 'disable', endpoint.id, '--dry-run'])
  assert.deepEqual([dry.code, dry.dryRun, dry.changed], [0, true, true])
  const first = await report(['webhooks', 'disable', endpoint.id, '--yes'])
  assert.deepEqual([first.code, first.changed], [0, true])
  const again = await report(['webhooks', 'disable', endpoint.id, '--yes'])
  assert.deepEqual([again.code, again.changed], [0, false])
  assert.deepEqual(again.endpoint, first.endpoint)
  assert.deepEqual((await report(['webhooks', 'endpoints', '--account', account.id])).endpoints, [])
  const all = await report(['webhooks', 'endpoints', '--account', account.id, '--all'])
  assert.deepEqual(
    all.endpoints.map(({ disabledReason }: { disabledReason: string }) => disabledReason),
    ['operator'],
  )
  for (const action of ['webhooks.created', 'webhooks.disabled'])
    assert.deepEqual(JSON.parse((await lastEntry(action)).subjects), [endpoint.id])
  const log = await report(['audit', 'list', '--limit', '1000'])
  assert.ok(!JSON.stringify(log).includes(signingSecret.slice(18)))
})

test('a missing account, a private host, a missing key ring and an unknown endpoint are rejected', async () => {
  const account = await newAccount()
  assert.match((await create(randomUUID())).message, /There is no account/)
  const local = ['webhooks', 'create', 'https://127.0.0.1/', '--account', account.id]
  const refused = await report([...local, '--event', 'score.updated'])
  assert.deepEqual([refused.code, refused.message], [2, 'url must name a host, not an address.'])
  const ringless = await report(
    ['webhooks', 'create', url, '--account', account.id, '--event', 'score.updated'],
    '',
  )
  assert.match(ringless.message, /Set SECRETS_KEYRING/)
  const unknown = await report(['webhooks', 'disable', randomUUID(), '--yes'])
  assert.deepEqual([unknown.code, unknown.error], [1, 'webhook_endpoint_not_found'])
  assert.equal((await report(['webhooks', 'disable', 'x'])).code, 2)
})

test('re-encryption needs the old key, and afterwards the new key alone is enough', async () => {
  const account = await newAccount()
  await create(account.id)
  const lost = await report(['webhooks', 'reencrypt'], ringOf('k9'))
  assert.equal(lost.code, 1)
  assert.match(lost.message, /k1 is not on the key ring/)
  const done = await report(['webhooks', 'reencrypt'], ringOf('k2', 'k1'))
  assert.equal(done.kid, 'k2')
  assert.ok(done.reencrypted >= 1)
  assert.equal(
    JSON.parse((await lastEntry('webhooks.reencrypted')).details).count,
    done.reencrypted,
  )
  assert.equal((await report(['webhooks', 'reencrypt'], ringOf('k2'))).reencrypted, 0)
})

function contentOf(username: string) {
  const read = readReportRequest({
    subject: { kind: 'candidate', username },
    decision: 'hired',
    notes: 'private words',
  })
  assert.ok('content' in read)
  return read.content
}

let reports = 0

/**
 * Each report is a second after the previous one, so that the newest does not depend on the clock.
 */
async function reported(userId: string, username: string) {
  const now = new Date(Date.now() + ++reports * 1_000)
  const request = { userId, apiKeyId: null, idempotencyKey: randomBytes(16).toString('hex') }
  return openReporting(db, 'locked')({ ...request, content: contentOf(username), now })
}

test('an account requests an unlock, is declined, requests again, is unlocked, reports and is locked; each decision is logged', async () => {
  const { id: userId, name } = await newAccount()
  const ask = () => requestReview(db, userId)
  assert.equal((await report(['reports', 'decline', name])).code, 1)
  await ask()
  const locked = { refusal: 'agent_reporting_locked' }
  const { reviews } = await report(['reports', 'reviews'])
  assert.deepEqual(
    reviews.map((review: { userId: string }) => review.userId),
    [userId],
  )
  assert.equal((await report(['reports', 'decline', name])).code, 0)
  assert.equal(await ask(), true)
  assert.deepEqual(await reported(userId, 'ada-lovelace'), locked)
  const unlocked = await report(['reports', 'unlock', userId])
  assert.deepEqual([unlocked.code, unlocked.reviewed], [0, true])
  assert.ok('report' in (await reported(userId, 'ada-lovelace')))
  assert.equal((await report(['reports', 'lock', name])).code, 0)
  assert.deepEqual(await reported(userId, 'ada-lovelace'), locked)
  for (const decision of ['declined', 'unlocked', 'locked'])
    assert.deepEqual(JSON.parse((await lastEntry(`agent_reporting.${decision}`)).subjects), [
      userId,
    ])
})

test('reports are listed and exported completely, for one account or all, and erased with their worker', async () => {
  const one = await newAccount()
  const other = await newAccount()
  for (const { id } of [one, other]) await report(['reports', 'unlock', id])
  for (let i = 0; i < 3; i++) await reported(one.id, 'to-be-erased')
  await reported(one.id, 'stays-here')
  await reported(other.id, 'to-be-erased')
  const listed = await report(['reports', 'list', '--account', one.name, '--limit', '2'])
  assert.equal(listed.reports.length, 2)
  assert.equal(listed.reports[0].subject.username, 'stays-here')
  const plain = await command.run(['reports', 'list', '--account', one.name])
  assert.ok(!plain.out.includes('private words'), 'words are not shown unasked')
  const file = join(command.folder, 'reports.ndjson')
  const exported = await report(['reports', 'export', '--account', one.id, '--out', file])
  assert.equal(exported.exported, 4)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).notes),
    Array.from({ length: 4 }, () => 'private words'),
  )
  assert.equal(statSync(file).mode & 0o077, 0, 'nobody else can read it')
  assert.equal((await report(['reports', 'erase', '--yes'])).code, 2)
  const erase = ['reports', 'erase', '--username', '@to-be-erased']
  assert.equal((await report(erase)).code, 2, 'not confirmed')
  assert.equal((await report([...erase, '--dry-run'])).erased, 4)
  assert.equal((await report([...erase, '--yes'])).erased, 4)
  assert.deepEqual(
    (await report(['reports', 'list', '--account', one.id])).reports.map(
      ({ subject }: { subject: { username: string } }) => subject.username,
    ),
    ['stays-here'],
  )
  const entry = await lastEntry('agent_reports.erased')
  assert.deepEqual([entry.subjects, entry.details], ['[]', '{"count":4}'])
})
