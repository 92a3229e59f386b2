/**
 * Accounts, keys and credits: an operator changes them, and a running server applies the change.
 */
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { debitBatch } from '../../src/billing/credits/debit.ts'
import { chargeReference } from '../../src/billing/credits/months.ts'
import { sql } from '../../src/platform/db/db.ts'
import { ask } from '../support/start/ask.ts'
import { installation } from '../support/start/installation.ts'
import { startServer } from '../support/start/processes.ts'

const { run, env, folder, db } = await installation()

async function report(...args: string[]) {
  const { code, out, err } = await run([...args, '--json'])
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return JSON.parse(out)
}

async function refused(code: number, ...args: string[]): Promise<string> {
  const ended = await run(args)
  assert.equal(ended.code, code, `${args.join(' ')}: ${ended.out}${ended.err}`)
  return ended.err
}

const json = { 'Content-Type': 'application/json' }
const verify = (base: string, key: string | null, { named = '', body = '{}' } = {}) =>
  ask(base, {
    method: 'POST',
    path: '/api/v1/score-vc/verify',
    headers: {
      ...json,
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(named === '' ? {} : { 'Idempotency-Key': named }),
    },
    body,
  })

test('a running server honours an account, key and credits made by command: it charges, and follows rotation and revocation', async () => {
  const [one, two] = [await startServer(env), await startServer(env)]
  const { account } = await report('accounts', 'create', 'Example Ltd')
  assert.match(await refused(1, 'accounts', 'create', 'Example Ltd'), /already/)
  assert.match(await refused(2, 'accounts', 'create', account.id), /has the form of an id/)
  const { id, key } = await report('api-keys', 'create', 'Example Ltd', '--scope', 'scores:read')
  assert.match(key, /^svc_live_[0-9A-Za-z]{36}$/)

  assert.equal((await verify(one.base, key)).status, 402)
  await report('credits', 'grant', account.id, '3', '--reason', 'trial', '--reference', 'INV-1')
  assert.match(
    await refused(1, 'credits', 'grant', account.id, '3', '--reason', 'x', '--reference', 'INV-1'),
    /entered before/,
  )
  assert.match(
    await refused(1, 'credits', 'grant', account.id, '2', '--reason', 'x', '--reference', 'INV-1'),
    /another entry/,
  )
  for (const wrong of [
    ['grant', account.id, '1', '--reason', 'x', '--reference', ''],
    ['grant', account.id, '1000000000000', '--reason', 'x'],
    ['usage', account.id, '--since', '2026-02-30'],
    ['usage', account.id, '--since', '2026-05-15', '--until', '2026-05-14'],
  ])
    assert.match(
      await refused(2, 'credits', ...wrong),
      /characters|twelve digits|a day|after its end/,
    )
  const paid = await verify(one.base, key)
  assert.equal(paid.status, 200)
  assert.equal(paid.headers['service-credits-charged'], '1')
  assert.equal(paid.headers['service-credits-remaining'], '2')
  const adjusted = await report(
    'credits',
    'adjust',
    account.id,
    '--reason',
    'typo',
    '--credits',
    '-1',
  )
  assert.equal(adjusted.balance, 1)
  assert.match(
    await refused(1, 'credits', 'adjust', account.id, '--reason', 'x', '--credits', '-2'),
    /below zero/,
  )

  await rotateRestrictAndRevoke([one.base, two.base], { accountId: account.id, id, key })

  await assertUsageOfTwoCalls()
  const audit = await report('credits', 'audit')
  const whole = { ok: true, accounts: 1, broken: [], repaired: [] }
  assert.deepEqual(audit, { ...whole, archives: [], files: [] })
  one.signal('SIGTERM')
  two.signal('SIGTERM')
  await Promise.all([one.ended, two.ended])
  const { keys } = await report('api-keys', 'list', account.id)
  assert.deepEqual(keys.map((listed: { state: string }) => listed.state).sort(), [
    'active',
    'revoked',
  ])
  assert.ok(keys.every((listed: { lastUsedAt: string | null }) => listed.lastUsedAt !== null))
  assert.ok(
    !one.out().includes(key.slice(9)) && !two.out().includes(key.slice(9)),
    'no key in a log',
  )

  const { entries } = await report('audit', 'list')
  assert.deepEqual(entries.map((entry: { action: string }) => entry.action).slice(0, 8), [
    'api_keys.revoked',
    'api_keys.restricted',
    'api_keys.restricted',
    'api_keys.rotated',
    'credits.adjusted',
    'credits.granted',
    'api_keys.created',
    'accounts.created',
  ])
  assert.ok(!JSON.stringify(entries).includes(key.slice(9)))
})

async function rotateRestrictAndRevoke(
  bases: readonly [string, string],
  { accountId, id, key }: { accountId: string; id: string; key: string },
): Promise<void> {
  const [first, second] = bases
  const rotated = await report('api-keys', 'rotate', id)
  assert.match(await refused(1, 'api-keys', 'rotate', id), /successor already/)
  assert.equal((await verify(second, key)).status, 200, 'during the overlap both are valid')
  assert.equal((await verify(second, rotated.key)).status, 402)
  const successor = rotated.id
  const kept = await report(
    'api-keys',
    'restrict',
    successor,
    '--allow-from',
    '192.0.2.7/24',
    '::1',
  )
  assert.deepEqual(kept.allowedFrom, ['192.0.2.0/24', '0:0:0:0:0:0:0:1/128'])
  for (const base of bases) assert.equal((await verify(base, rotated.key)).status, 401)
  const list = await run(['api-keys', 'list', accountId])
  assert.match(list.out, /scores:read +192\.0\.2\.0\/24 0:0:0:0:0:0:0:1\/128/)
  await report('api-keys', 'restrict', successor, '--anywhere')
  assert.equal((await verify(first, rotated.key)).status, 402)
  const found = await report('api-keys', 'find', key)
  assert.deepEqual([found.id, found.account, found.state], [id, 'Example Ltd', 'active'])
  assert.equal((await report('api-keys', 'find', found.shown)).id, id)
  assert.match(await refused(1, 'api-keys', 'find', `${key}x`), /No API key has this text/)
  await refused(2, 'api-keys', 'revoke', id)
  await report('api-keys', 'revoke', id, '--yes')
  for (const base of bases) {
    const answer = await verify(base, key)
    assert.equal(answer.status, 401)
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
  }
}

async function assertUsageOfTwoCalls(): Promise<void> {
  const usage = await report('credits', 'usage', 'Example Ltd')
  assert.equal(usage.credits, 2)
  const [{ meter, operation, calls, credits }] = usage.usage
  assert.deepEqual(
    { meter, operation, calls, credits },
    {
      meter: 'score_lookup',
      operation: 'verifyScoreCredential',
      calls: 2,
      credits: 2,
    },
  )
  const day = usage.usage[0].day
  const table = await run(['credits', 'usage', 'Example Ltd', '--csv'])
  assert.deepEqual(table.out.trimEnd().split('\n'), [
    'day,meter,operation,calls,refunded,credits',
    `${day},score_lookup,verifyScoreCredential,2,0,2`,
  ])
  const shown = await run(['credits', 'usage', 'Example Ltd'])
  assert.match(shown.out, /verifyScoreCredential +2 +0 +2\n2 credits in all/)
}

test('a command with a typing error changes nothing and ends with exit code 2 and a message', async () => {
  for (const args of [
    ['api-keys', 'create', 'Example Ltd', '--scope', 'everything'],
    ['api-keys', 'create', 'Example Ltd', '--scope', 'scores:read', '--environment', 'prod'],
    ['api-keys', 'create', 'Example Ltd', '--scope', 'scores:read', '--allow-from', 'example.org'],
    ['api-keys', 'create', 'Example Ltd', '--scope', 'scores:read', '--name', 'n'.repeat(81)],
    ['api-keys', 'restrict', 'svc_live_abc', '--anywhere'],
    ['api-keys', 'restrict', '00000000-0000-4000-8000-000000000000'],
    ['api-keys', 'rotate', 'svc_live_abc'],
    ['credits', 'grant', 'Example Ltd', '1e3', '--reason', 'x'],
    ['credits', 'grant', 'Example Ltd', '0', '--reason', 'x'],
    ['credits', 'usage', 'Example Ltd', '--since', '2026-02-30'],
  ])
    assert.notEqual(await refused(2, ...args), '')
  assert.match(await refused(1, 'credits', 'show', 'Nobody'), /no account/)
})

test('a grant without a reference gets one, which is shown first; an equal one within ten minutes is entered with --yes or a reference alone', async () => {
  const { account } = await report('accounts', 'create', 'Repeated Ltd')
  const enter = (verb: string, ...more: string[]) =>
    run(['credits', verb, account.id, ...more, '--reason', 'trial', '--json'])
  const both = await Promise.all([enter('grant', '5'), enter('grant', '5')])
  const [first, again] = both.sort((a, b) => a.code - b.code)
  assert.ok(first !== undefined && again !== undefined)
  const { reference, balance } = JSON.parse(first.out)
  assert.equal(balance, 5)
  assert.match(
    first.err,
    new RegExp(`^The reference is ${reference}\\. If .*--reference ${reference}`),
  )
  assert.equal(again.code, 1)
  assert.match(again.err + again.out, new RegExp(`got \\+5 credits at .*${reference}.*--yes`))
  const repeated = await enter('grant', '5', '--reference', reference)
  assert.match(repeated.err + repeated.out, /entered before/)
  const balances = []
  for (const more of [['5', '--yes'], ['5', '--reference', 'INV-9'], ['6']])
    balances.push(JSON.parse((await enter('grant', ...more)).out).balance)
  assert.deepEqual(balances, [10, 15, 21])
  assert.equal((await enter('adjust', '--credits', '-1')).code, 0)
  assert.equal((await enter('adjust', '--credits', '-1')).code, 1)
  await db.run(sql`alter table credit_entries_operator disable trigger user`)
  await db.run(sql`
    update credit_entries_operator set at = at - interval '11 minutes' where account_id = ${account.id}`)
  await db.run(sql`alter table credit_entries_operator enable trigger user`)
  assert.equal((await enter('grant', '5')).code, 0)
  const { out } = await run(['credits', 'audit'])
  assert.match(out, /^accounts that add up: \d+ of \d+$/m)
})

test('a verification is charged once for an Idempotency-Key, also for ambiguous JSON; another body or a malformed key is rejected', async () => {
  const server = await startServer(env)
  const { account } = await report('accounts', 'create', 'Once Ltd')
  const { key } = await report('api-keys', 'create', 'Once Ltd', '--scope', 'scores:read')
  await report('credits', 'grant', account.id, '7', '--reason', 'trial')
  const charged: unknown[] = []
  const named = 'verification-000001'
  for (const options of [{ named }, { named }, {}, { named: 'verification-000002' }])
    charged.push((await verify(server.base, key, options)).headers['service-credits-charged'])
  assert.deepEqual(charged, ['1', '0', '1', '1'])
  const errorOf = ({ status, body }: Awaited<ReturnType<typeof verify>>) => [
    status,
    JSON.parse(String(body)).error,
  ]
  const other = await verify(server.base, key, { named, body: '{"a":1}' })
  assert.deepEqual(errorOf(other), [400, 'purchase_key_reused'])
  // Duplicate keys and deep nesting are ambiguous: a parser could read another body as the same
  // value. Another body must not share the purchase.
  const twice = { named: 'verification-000003', body: '{"a":1,"a":2}' }
  const deep = { named: 'verification-000004', body: `{"a":${'['.repeat(9e4)}${']'.repeat(9e4)}}` }
  for (const ambiguous of [twice, deep]) {
    const answers = [await verify(server.base, key, ambiguous)]
    answers.push(await verify(server.base, key, ambiguous))
    for (const { status, body } of answers) {
      assert.equal(status, 200)
      assert.equal(JSON.parse(String(body)).valid, false)
    }
    const charges = answers.map(({ headers }) => headers['service-credits-charged'])
    assert.deepEqual(charges, ['1', '0'])
  }
  const read = await verify(server.base, key, { ...twice, body: '{"a":2}' })
  assert.deepEqual(errorOf(read), [400, 'purchase_key_reused'])
  const short = await verify(server.base, key, { named: 'short' })
  assert.deepEqual(errorOf(short), [400, 'invalid_idempotency_key'])
  assert.equal((await verify(server.base, null, { named: 'short' })).status, 200, 'nobody pays')
  server.signal('SIGTERM')
  await server.ended
})

test('a month is archived to a file by command; audit verifies the file, and usage names the archived months', async () => {
  const { account } = await report('accounts', 'create', 'Archived Ltd')
  const accountId = account.id
  const { id: keyId } = await report('api-keys', 'create', accountId, '--scope', 'scores:read')
  await report('credits', 'grant', accountId, '10', '--reason', 'trial')
  const reference = chargeReference(new Date('2026-01-31T12:00:00Z'), 'call')
  const debit = { accountId, keyId, amount: 4, reference, meter: 'score_lookup', operation: 'x' }
  await debitBatch(db, [debit])
  const out = join(folder, '2026-01.ndjson')
  assert.match(await refused(2, 'credits', 'archive', '2026-13', '--out', out), /such as 2026-05/)
  const thisMonth = new Date().toISOString().slice(0, 7)
  assert.match(
    await refused(1, 'credits', 'archive', thisMonth, '--out', out),
    /can be archived from/,
  )
  const archived = await report('credits', 'archive', '2026-01', '--out', out)
  assert.deepEqual([archived.entries, archived.credits], [1, 4])
  assert.match(await refused(2, 'credits', 'archive', '2026-01', '--out', out), /exists already/)
  assert.match(
    await refused(1, 'credits', 'archive', '2026-01', '--out', `${out}.2`),
    /archived already/,
  )
  const { entries } = await report('audit', 'list', '--action', 'credits.archived')
  const { month, sha256 } = archived
  assert.deepEqual(JSON.parse(entries[0].details), { month, entries: 1, sha256 })

  const unverified = await report('credits', 'audit')
  assert.deepEqual(
    unverified.archives.map((one: { month: string; isVerified: boolean }) => [
      one.month,
      one.isVerified,
    ]),
    [['2026-01', false]],
  )
  const verified = await run(['credits', 'audit', '--archive', out])
  assert.equal(verified.code, 0)
  assert.match(verified.out, /^2026-01 {2}archived: 1 entry, 4 credits, its file is verified$/m)
  appendFileSync(out, '\n')
  const changed = await run(['credits', 'audit', '--archive', out])
  assert.equal(changed.code, 1)
  assert.match(changed.out, /its SHA-256 is that of no archived month/)

  const january = ['--since', '2026-01-01', '--until', '2026-02-01']
  const usage = await report('credits', 'usage', accountId, ...january)
  assert.deepEqual(
    [usage.usage, usage.archived],
    [[], [{ month: '2026-01', entries: 1, credits: 4 }]],
  )
  const result = await run(['credits', 'usage', accountId, ...january])
  assert.match(result.out, /^2026-01 is archived: 4 credits in the whole month/m)
  const february = ['--since', '2026-02-01', '--until', '2026-03-01']
  assert.deepEqual((await report('credits', 'usage', accountId, ...february)).archived, [])
})
