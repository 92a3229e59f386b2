/** The console: its callers, its pages for every operation, and the work of an operator in it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { operatorsCreateToken } from '../../src/accounts/access/operator-operations.ts'
import { operatorsGrant } from '../../src/accounts/operator-operations.ts'
import { readConfig } from '../../src/config/config.ts'
import { type ConsoleRole, consoleRoles } from '../../src/edge/http/callers.ts'
import { allOperations } from '../../src/main/all-operations.ts'
import { openScoring } from '../../src/main/scoring.ts'
import { operatorRoute } from '../../src/operations/operator-routes.ts'
import { perform, whyForbidden } from '../../src/operations/perform.ts'
import { sql } from '../../src/platform/db/db.ts'
import { addScoredWorker, addSources, enough } from '../support/build/scores.ts'
import { newSession, type TestSession } from '../support/build/sessions.ts'
import {
  createEndpoint,
  failing,
  happen,
  receiver,
  startDelivering,
} from '../support/build/webhooks.ts'
import { publicLine, register } from '../support/build/workers.ts'
import { ask, type Reply } from '../support/start/ask.ts'
import { inspectUrl, noBrowser } from '../support/start/browser.ts'
import { commandLine } from '../support/start/command-line.ts'
import { type Dashboard, startDashboard } from '../support/start/dashboard.ts'
import { startEdge } from '../support/start/edge.ts'
import { startService, type TestService } from '../support/start/service.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'assay-console-'))
const browserAccept = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const minuteMs = 60_000

let dashboard: Dashboard
let service: TestService
const users = {} as Record<ConsoleRole, TestSession>
let scoringNow: Awaited<ReturnType<typeof openScoring>>

before(async () => {
  dashboard = await startDashboard({ ASSAY_DATA_DIR: dataDir })
  service = dashboard.service
  for (const role of consoleRoles) users[role] = await newOperator(role)
  const { db, url } = service.database
  const line = commandLine(url)
  line.env.ASSAY_DATA_DIR = dataDir
  const made = await line.run(['keys', 'create'])
  line.remove()
  assert.equal(made.code, 0, made.err)
  await addSources(db)
  const config = readConfig({ PUBLIC_URL: service.publicUrl, ASSAY_DATA_DIR: dataDir })
  scoringNow = await openScoring(config)
  await newWorker('ada')
  await register(db, [publicLine({ username: 'bob', displayName: 'Bob' })], new Date())
})
after(async () => {
  await service.stop()
  rmSync(dataDir, { recursive: true })
})

const atMachine = { kind: 'operator', role: 'admin', actor: 'root@vm', by: 'root' } as const

/** A public worker with a score, as the service computes it. */
async function newWorker(username: string): Promise<void> {
  const { db } = service.database
  const items = enough.map((one) => ({
    ...one,
    skillId: 'hss:typescript',
    type: 'work_product' as const,
  }))
  await addScoredWorker(db, { over: { username }, items, by: await scoringNow(db) })
}

/** A user with a role whose session began `ageMs` ago. */
async function newOperator(role: ConsoleRole, ageMs = 0): Promise<TestSession> {
  const { db } = service.database
  const now = new Date(Date.now() - ageMs)
  const session = await newSession(db, { publicUrl: service.publicUrl, now })
  const performer = { db, clock: () => new Date(), services: {} }
  await perform(performer, operatorsGrant, atMachine, { email: session.email, role })
  return session
}

function get(path: string, of: TestSession = users.admin): Promise<Reply> {
  return ask(service.base, { path, headers: { ...of.headers, ...browserAccept } })
}

function send(path: string, fields: Record<string, string>, of = users.admin): Promise<Reply> {
  return dashboard.send(of, path, { do: 'perform', key: 'a-key-of-the-test-0001', ...fields })
}

async function auditCount(): Promise<number> {
  const [row] = await service.database.db.rows<{ count: number }>(sql`
    select count(*)::int as count from audit_log`)
  return row?.count ?? 0
}

const consolePaths = [
  '/console',
  '/console/disputes',
  '/console/workers/ada',
  '/console/disputes/do/open',
  '/console/operators/view/list-tokens',
  '/console/audit',
]

test('404: a user without a role, and any other network, get the bytes of an unknown path', async () => {
  const customer = await dashboard.newUser()
  const browser = { ...customer, ownOrigin: { ...customer.ownOrigin, ...browserAccept } }
  const unknown = await get('/nothing-here')
  for (const path of consolePaths) {
    for (const headers of [
      { ...customer.headers, ...browserAccept },
      { ...users.admin.headers, ...browserAccept, 'X-Forwarded-For': '192.0.2.7' },
    ]) {
      const reply = await ask(service.base, { path, headers })
      assert.equal(reply.status, 404, path)
      assert.deepEqual(reply.body, unknown.body)
    }
    const sent = await dashboard.send(browser, path, { do: 'perform' })
    assert.ok([404, 405].includes(sent.status), path)
    assert.deepEqual(sent.body, unknown.body)
  }
})

test('303: a visitor without a session signs in first, and comes back to the page', async () => {
  const reply = await ask(service.base, { path: '/console/disputes?all=true' })
  assert.equal(reply.status, 303)
  assert.equal(reply.headers.location, '/sign-in?next=%2Fconsole%2Fdisputes%3Fall%3Dtrue')
})

test('404: an unknown noun, verb or record has no page', async () => {
  for (const path of [
    '/console/nothing',
    '/console/disputes/do/nothing',
    '/console/disputes/view/list',
    '/console/disputes/no-id',
    '/console/disputes/01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f',
    '/console/workers/nobody',
    '/console/consent/ada',
  ])
    assert.equal((await get(path)).status, 404, path)
})

const nouns = [...new Set(allOperations.map(({ name }) => name.split(' ')[0] ?? ''))]

test('every operation has its page for exactly the roles that it names', async () => {
  for (const role of consoleRoles) {
    const caller = { kind: 'operator', role, actor: 'x', by: 'x' } as const
    for (const noun of nouns)
      assert.equal((await get(`/console/${noun}`, users[role])).status, 200, noun)
    for (const { name, kind, who } of allOperations) {
      if (kind === 'read') continue
      const { status } = await get(`/console/${name.replace(' ', '/do/')}`, users[role])
      assert.equal(status, whyForbidden(who, caller) === null ? 200 : 403, `${role} ${name}`)
    }
  }
})

test('403: a form that the role does not allow changes nothing', async () => {
  const before = await auditCount()
  const fields = { role: 'admin' }
  const path = `/console/operators/do/grant?email=${users.viewer.email}`
  for (const role of ['viewer', 'support'] as const)
    assert.equal((await send(path, fields, users[role])).status, 403)
  assert.equal(await auditCount(), before)
})

test('a form that is sent twice acts once; with other content it asks first', async () => {
  const before = await auditCount()
  const path = '/console/disputes/do/open?username=ada'
  const first = await send(path, { kind: 'identity' })
  const second = await send(path, { kind: 'identity' })
  assert.equal(first.status, 303)
  assert.match(String(first.headers.location), /^\/console\/disputes\/[0-9a-f-]{36}\?done-by=/)
  assert.equal(second.headers.location, first.headers.location)
  assert.equal(await auditCount(), before + 1)
  const shown = await get(String(first.headers.location))
  assert.match(String(shown.body), /role="status".*Dispute [0-9a-f-]{36} is open, due/s)
  const other = await send(path, { kind: 'score' })
  assert.equal(other.status, 409)
  assert.match(String(other.body), /was sent before with other content/)
  assert.doesNotMatch(String(other.body), /a-key-of-the-test-0001/)
  assert.equal(await auditCount(), before + 1)
})

test('a refusal stays on the form, at its field, with what was typed', async () => {
  const path = '/console/disputes/do/open'
  const atField = await send(path, { username: 'ada', kind: 'no such kind', evidence: 'x/y' })
  assert.equal(atField.status, 400)
  assert.match(String(atField.body), /id="kind-error"/)
  assert.match(String(atField.body), /value="ada"/)
  assert.match(String(atField.body), /x\/y<\/textarea>/)
  const key = 'a-key-of-the-test-0003'
  const onForm = await send(path, { username: 'nobody', kind: 'score', key })
  assert.equal(onForm.status, 404)
  assert.match(String(onForm.body), /role="alert".*Nothing was changed\..*nobody/s)
  for (const list of ['accounts', 'disputes']) {
    const page = await get(`/console/${list}?after=no-such-row`)
    assert.equal(page.status, 400)
    assert.match(String(page.body), /role="alert".*after must be the member/s, list)
  }
  const filter = await get('/console/evidence?source=NO SUCH'.replace(' ', '%20'))
  assert.equal(filter.status, 400)
  assert.match(String(filter.body), /id="source-error"/)
})

test('a list shows a score as a number and not as a state; the box of a filter says what it adds', async () => {
  const scores = String((await get('/console/scores')).body)
  assert.match(scores, /\d+ \[\d+, \d+\]/)
  assert.doesNotMatch(scores, /class="badge"[^>]*>(?:<svg.*?<\/svg>)?\d/)
  const webhooks = String((await get('/console/webhooks')).body)
  assert.match(webhooks, /type="checkbox"[^>]*><span>Disabled endpoints as well</)
  assert.match(webhooks, /class="button primary" href="\/console\/webhooks\/do\/create"/)
})

test('a list gives a key room, and names on a phone what a number counts', async () => {
  const keys = String((await get('/console/keys')).body)
  assert.match(keys, /<span class="break long" dir="auto">z6Mk/)
  const accounts = String((await get('/console/accounts')).body)
  assert.match(accounts, /narrow-only">Credits: \d/)
})

test('a page behind the last row of a list says so, and leads to the first page', async () => {
  const after = '00000000-0000-0000-0000-000000000000'
  const { status, body } = await get(`/console/accounts?after=${after}`)
  assert.equal(status, 200)
  assert.match(
    String(body),
    /The page before was the last one\..*href="\/console\/accounts" rel="prev"/s,
  )
})

test('what cannot be taken back needs a sign-in of the last 15 minutes', async () => {
  const path = '/console/workers/do/erase?username=bob'
  const late = await newOperator('admin', 16 * minuteMs)
  const before = await auditCount()
  const shown = await get(path, late)
  const again = '/sign-in?again=yes&amp;next=%2Fconsole%2Fworkers%2Fdo%2Ferase%3Fusername%3Dbob'
  assert.ok(String(shown.body).includes(again))
  assert.doesNotMatch(String(shown.body), /value="perform"/)
  assert.equal((await send(path, { reason: 'worker_request' }, late)).status, 403)
  assert.equal(await auditCount(), before)
  const harmless = '/console/sources/do/register'
  assert.match(String((await get(harmless, late)).body), /value="perform"/)
  const fresh = await newOperator('admin', 14 * minuteMs)
  assert.match(String((await get(path, fresh)).body), /value="perform"/)
  // A user who is signed in gets the form only if it must be done again.
  assert.equal((await get('/sign-in?next=%2Fconsole', late)).headers.location, '/console')
  assert.equal((await get(`/sign-in?again=yes&next=%2Fconsole`, late)).status, 200)
})

test('a preview shows the result and changes nothing', async () => {
  const before = await auditCount()
  const path = '/console/workers/do/erase?username=bob'
  const shown = await send(path, { do: 'preview', reason: 'worker_request' })
  assert.equal(shown.status, 200)
  assert.match(String(shown.body), /Nothing was changed yet.*bob is erased/s)
  assert.equal(await auditCount(), before)
  assert.equal((await get('/console/workers/bob')).status, 200)
})

test('a secret is in the answer to its form, in no cache, and never shown again', async () => {
  const fields = { name: 'HR', role: 'ingest', validDays: '30', key: 'a-key-of-the-test-0002' }
  const path = '/console/operators/do/create-token'
  const made = await send(path, fields)
  assert.equal(made.status, 201)
  assert.match(String(made.body), /svc_op_[0-9A-Za-z]{36}/)
  assert.equal(made.headers['cache-control'], 'private, no-store')
  const again = await send(path, fields)
  assert.equal(again.status, 409)
  assert.doesNotMatch(String(again.body), /svc_op_/)
  const [row] = await service.database.db.rows<{ count: number }>(sql`
    select count(*)::int as count from operator_tokens where name = 'HR'`)
  assert.equal(row?.count, 1)
})

/** Inputs of operations by name. A form answers in words, so its answer is not compared. */
const asked: readonly [name: string, input: Record<string, string>][] = [
  ['workers list', { find: 'ad' }],
  ['disputes list', { username: 'nobody' }],
  ['disputes show', { disputeId: '01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f' }],
  ['disputes open', { username: 'nobody', kind: 'score' }],
  ['disputes open', { username: 'ada', kind: 'no such' }],
  ['consent withdraw', { username: 'ada', permission: 'search_listing' }],
  ['credits grant', { account: 'Nobody', credits: '5', reason: 'x' }],
  ['users disable', { email: 'nobody@example.org' }],
  ['workers erase', { username: 'bob', reason: 'worker_request' }],
]

test('the same input gets the same answer or refusal by command, by HTTP and in the console', async () => {
  const { db, url } = service.database
  const performer = { db, clock: () => new Date(), services: {} }
  const token = { name: 'doors', role: 'admin', validDays: 1 } as const
  const made = await perform(performer, operatorsCreateToken, atMachine, token)
  const secret = 'output' in made ? made.output.secret : assert.fail()
  const line = commandLine(url)
  line.env.ASSAY_DATA_DIR = dataDir
  line.env.PUBLIC_URL = service.publicUrl
  for (const [name, input] of asked) {
    const operation = allOperations.find((one) => one.name === name) ?? assert.fail(name)
    const isRead = operation.kind === 'read'
    const path = Object.keys(operation.path)
    const others = Object.entries(input).filter(([field]) => !path.includes(field))
    const positional = operation.positional ?? path
    const flags = Object.entries(input)
      .filter(([field]) => !positional.includes(field))
      .flatMap(([field, value]) => [`--${field}`, value])
    const always = isRead ? [] : ['--dry-run', '--by', 'x']
    const words = [...name.split(' '), ...positional.map((field) => input[field] ?? ''), ...flags]
    const command = JSON.parse((await line.run([...words, ...always, '--json'])).out)

    const { method, path: route } = operatorRoute(operation)
    const at = route.replaceAll(/\{(\w+)\}/g, (_, field: string) => input[field] ?? '')
    const query = isRead ? new URLSearchParams(others).toString() : 'dryRun=true'
    const members = others.map(([field, text]) => [field, field === 'credits' ? 5 : text])
    const reply = await ask(service.base, {
      method,
      path: `${at}?${query}`,
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      ...(!isRead && { body: JSON.stringify(Object.fromEntries(members)) }),
    })
    const http = JSON.parse(String(reply.body))

    const { ok, ...told } = command
    assert.equal(ok, reply.status === 200, `${name} ${reply.status} ${JSON.stringify(command)}`)
    if (ok) assert.deepEqual({ ...told, next: null }, { ...http, next: null }, name)
    else {
      // A fault of a read is in its parameters, and a command names a flag.
      const error = String(http.error).replace('invalid_parameter', 'invalid_field')
      assert.equal(told.error, error, name)
      assert.ok(told.message.replace(/^--/, '').startsWith(http.message), told.message)
    }
    const [noun = '', verb = ''] = name.split(' ')
    const page = isRead
      ? await get(path[0] ? `/console/${noun}/${input[path[0]]}` : `/console/${noun}?${query}`)
      : await send(`/console/${noun}/do/${verb}`, { ...input, do: 'preview' })
    assert.equal(page.status, reply.status, name)
    const text = String(page.body).replaceAll('&quot;', '"')
    if (!ok && path[0] !== 'disputeId') assert.ok(text.includes(http.message), `${name}: ${text}`)
  }
  line.remove()
})

test('the audit log names the operator, and tells whether it is whole', async () => {
  const [entry] = await service.database.db.rows<{ actor: string }>(sql`
    select actor from audit_log where action = 'disputes.opened'`)
  assert.equal(entry?.actor, `operator ${users.admin.userId}`)
  const checked = await send('/console/audit', { do: 'verify' })
  assert.match(String(checked.body), /The log is whole: \d+ entries\./)
  const wrong = await get('/console/audit?since=yesterday')
  assert.equal(wrong.status, 400)
  assert.match(String(wrong.body), /id="since-error"/)
})

test('every URL of every page answers, and no page shows a backtick', async () => {
  const { db } = service.database
  const { url } = await receiver(failing)
  const now = new Date()
  const endpoint = await createEndpoint(db, url, { userId: users.admin.accountId, at: now })
  await happen(db, 'score.updated', { at: now })
  const delivering = startDelivering(db)
  delivering.moveTo(now)
  await delivering.deliver()
  const seen = new Set<string>()
  const lists = nouns.map((noun) => `/console/${noun}`)
  const support = await newOperator('support')
  for (const path of [...consolePaths, ...lists, `/console/webhooks/${endpoint.id}`]) {
    const { body, status } = await get(path, support)
    assert.equal(status, 200, path)
    const shown = String(body).replaceAll(/<[^>]*>/g, ' ')
    assert.equal(/.*`.*/.exec(shown), null, path)
    for (const [, url = ''] of String(body).matchAll(/(?:href|src|action)="(\/[^"#]*)"/g))
      seen.add(url.replaceAll('&amp;', '&'))
  }
  for (const path of seen) {
    const { status } = await get(path)
    assert.ok([200, 303, 405].includes(status), `${path} ${status}`)
  }
})

test('the listener of the operator has the console, sign-in and assets, and compares with its own origin', async () => {
  const operatorUrl = 'https://operator.example.org'
  const own = await startService('https://scores.example.org', service, {
    env: {
      OPERATOR_PORT: '1',
      OPERATOR_URL: operatorUrl,
      SMTP_URL: 'smtp://localhost',
      MAIL_FROM: 'a@example.org',
    },
  })
  const { operatorSite, operatorEndpoints, operatorSessions } = own
  const edge = await startEdge({
    endpoints: [...operatorEndpoints, ...operatorSite.endpoints],
    notFoundPage: operatorSite.notFoundPage,
    publicUrl: operatorUrl,
    operatorNetworks: null,
    authenticateSession: operatorSessions,
  })
  const base = `http://127.0.0.1:${edge.port}`
  const Cookie = `__Host-session=${users.admin.value}`
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  try {
    assert.equal((await ask(base, { path: '/' })).headers.location, '/console')
    const page = await ask(base, { path: '/console', headers: { Cookie } })
    assert.equal(page.status, 200)
    const signIn = await ask(base, { path: '/sign-in?next=%2Fconsole' })
    const urls = `${String(signIn.body)}${String(page.body)}`.matchAll(
      /(?:href|src|action)="(\/[^"#]*)"/g,
    )
    for (const [, path = ''] of urls) {
      const { status } = await ask(base, { path, headers: { Cookie } })
      assert.ok([200, 303, 405].includes(status), `${path} ${status}`)
    }
    const post = (Origin: string) =>
      ask(base, {
        method: 'POST',
        path: '/sign-in',
        headers: { ...form, Origin },
        body: `email=${users.admin.email}`,
      })
    assert.equal((await post('https://scores.example.org')).status, 403)
    assert.equal((await post(operatorUrl)).status, 303)
    const [mail] = await service.database.db.rows<{ next: string }>(sql`
      select next from mails where email = ${users.admin.email}`)
    assert.equal(mail?.next, '/console')
    const link = await send('/console/users/do/sign-in-link', {
      email: users.viewer.email,
      console: 'true',
      key: 'a-key-of-the-test-0005',
    })
    assert.equal(link.status, 201)
    const customer = await dashboard.newUser()
    const headers = { ...browserAccept, Cookie: `__Host-session=${customer.value}` }
    const unknown = await ask(base, { path: '/nothing-here', headers: browserAccept })
    const refused = await ask(base, { path: '/console', headers })
    assert.equal(refused.status, 404)
    assert.deepEqual(refused.body, unknown.body)
  } finally {
    await edge.stop()
    await own.stop()
  }
})

test('the pages: axe finds nothing, nothing scrolls sideways, the console is empty', {
  skip: noBrowser,
}, async () => {
  const context = await dashboard.signedIn(await newOperator('admin'))
  const fields = { kind: 'score', key: 'a-key-of-the-test-0004' }
  const opened = await send('/console/disputes/do/open?username=ada', fields)
  const paths = [
    ...consolePaths,
    '/console/workers',
    '/console/sources',
    '/console/evidence',
    '/console/operators',
    '/console/webhooks',
    `/console/accounts/${users.admin.accountId}`,
    `/console/users/${users.admin.email}`,
    '/console/consent',
    String(opened.headers.location),
    '/console/workers/do/erase?username=ada',
    '/console/operators/do/create-token',
  ]
  for (const path of paths)
    await inspectUrl(
      context,
      service.base + path,
      path.slice(1).replace(/\?.*/, '').replace('@', '-'),
    )
  const late = await dashboard.signedIn(await newOperator('admin', 16 * minuteMs))
  const erase = '/console/workers/do/erase?username=ada'
  await inspectUrl(late, service.base + erase, 'console sign in again')
  await late.close()
  await context.close()
})

for (const javaScriptEnabled of [true, false])
  test(`the work of an operator by pages alone, ${javaScriptEnabled ? 'with' : 'without'} scripts`, {
    skip: noBrowser,
  }, async () => {
    const username = javaScriptEnabled ? 'cyd' : 'dan'
    await newWorker(username)
    const colleague = await dashboard.newUser()
    const of = await newOperator('admin')
    const { page, faults } = await dashboard.visit('/console', { of, javaScriptEnabled })
    const go = (name: string) =>
      page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name }).click()
    const done = (text: RegExp) => page.getByRole('status').getByText(text).waitFor()
    const send = (name: string) => page.getByRole('button', { name, exact: true }).click()
    /** Follows an action of a record, which may stand in the menu. */
    const act = async (name: string): Promise<void> => {
      // The style of the page decides whether the link is visible.
      await page.waitForLoadState()
      const link = page.getByRole('main').getByRole('link', { name, exact: true }).first()
      if (!(await link.isVisible()))
        await page.locator('summary', { hasText: 'More actions' }).first().click()
      await link.click()
    }
    const takeSecret = async (form: RegExp): Promise<void> => {
      await page.getByText(form).first().waitFor()
      await page.getByLabel('I have stored it').check()
      await send('Done')
    }

    await go('Operators')
    await page.getByRole('link', { name: 'Grant' }).click()
    await page.getByLabel('Email').fill(colleague.email)
    await page.getByLabel('Role').selectOption('support')
    await page.getByRole('button', { name: 'Grant' }).click()
    await done(/has the role from the next request on/)
    const row = page.getByRole('row', { name: colleague.email })
    await row.getByRole('link', { name: 'Withdraw' }).click()
    await page.getByRole('button', { name: 'Withdraw' }).click()
    await done(/is no operator any more/)

    await go('Accounts')
    await act('Create')
    await page.getByLabel('Name', { exact: true }).fill(`Harbour ${username}`)
    await send('Create')
    await done(/Harbour/)
    await page.getByRole('heading', { name: `Harbour ${username}` }).waitFor()
    await act('Create API key')
    await page.getByLabel('scores:read').check()
    await page.getByLabel('Name').fill('reads')
    await send('Create')
    await takeSecret(/^svc_live_/)
    await act('Grant credits')
    await page.getByLabel('Credits', { exact: true }).fill('500')
    await page.getByLabel('Reason', { exact: true }).fill('first order')
    await send('Grant')
    await done(/500/)
    await act('Create webhook')
    await page.getByLabel('URL', { exact: true }).fill('https://hooks.example.com/in')
    await page.getByLabel('score.updated').check()
    await send('Create')
    await takeSecret(/^whsec_/)
    await page.getByRole('link', { name: /hooks.example.com/ }).click()
    await act('Replace secret')
    await send('Replace secret')
    await takeSecret(/^whsec_/)
    await go('Accounts')
    await page.getByRole('link', { name: `Harbour ${username}` }).click()
    await act('Revoke')
    await send('Revoke')
    await done(/revoked/)

    await go('Sources')
    await page.getByRole('link', { name: 'Suspend' }).first().click()
    await page.getByRole('button', { name: 'Suspend' }).click()
    await done(/suspended/)
    await page.getByRole('link', { name: 'Resume' }).first().click()
    await page.getByRole('button', { name: 'Resume' }).click()
    await done(/./)

    for (const decision of ['rejected', 'upheld']) {
      await openWorker(page, username)
      await page.getByRole('link', { name: 'Open dispute' }).click()
      await page.getByLabel('Kind').selectOption('score')
      await page.getByRole('button', { name: 'Open' }).click()
      await done(/is open, due/)
      await page.getByRole('link', { name: 'Review' }).click()
      await page.getByRole('button', { name: 'Review' }).click()
      await done(/is under review/)
      await page.getByRole('link', { name: 'Resolve' }).click()
      await page.getByLabel('As', { exact: true }).selectOption(decision)
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('Nothing was changed yet').waitFor()
      await page.getByRole('button', { name: 'Resolve' }).click()
      await done(new RegExp(decision))
    }

    await openWorker(page, username)
    await page.getByRole('link', { name: /Withdraw.*consent score sharing/ }).click()
    await page.getByRole('button', { name: 'Withdraw' }).click()
    await done(/./)
    await page.getByText('Why the score is hidden').waitFor()

    await page.getByRole('link', { name: 'Erase' }).click()
    await page.getByLabel('Reason').selectOption({ index: 1 })
    await page.getByRole('button', { name: 'Erase' }).click()
    await done(new RegExp(`${username} is erased`))

    await go('Audit log')
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    await done(/The log is whole/)
    await page.locator('summary', { hasText: 'your account' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(faults, [])
    await page.context().close()
  })

async function openWorker(page: Page, username: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Console' })
    .getByRole('link', { name: 'Workers' })
    .click()
  await page.getByLabel('Find').fill(username)
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('link', { name: username, exact: true }).click()
}
