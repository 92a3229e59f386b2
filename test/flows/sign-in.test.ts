/**
 * Sign-in by mail with a real mail server and two nodes: a user is invited, confirms the mailed
 * link, uses every session route of the specification, and signs out.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { accountRequests, goodStatus } from '../support/build/account-drives.ts'
import { newKey } from '../support/build/keys.ts'
import { lock } from '../support/build/reports.ts'
import { newSession } from '../support/build/sessions.ts'
import { testRingText } from '../support/build/webhooks.ts'
import { everythingStored, formsOf } from '../support/oracle/everything-stored.ts'
import { ask, type Question, type Reply } from '../support/start/ask.ts'
import { dashboardPaths } from '../support/start/dashboard.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  type MailServer,
  type ReceivedMail,
  startMailServer,
} from '../support/start/mail-server.ts'
import { startOidcServer } from '../support/start/oidc-server.ts'
import {
  assay,
  type Env,
  eventually,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const publicUrl = 'https://scores.example.org'
const cookieName = '__Host-session'

const database = await testDatabase()
const { db } = database
const folder = temporaryFolder()
const mail = await startMailServer()
const caFile = join(folder, 'mail-ca.pem')
writeFileSync(caFile, mail.ca)
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  TRUSTED_PROXIES: '127.0.0.1',
  NODES: '2',
  METRICS_PORT: '0',
  LOG_LEVEL: 'debug',
  SECRETS_KEYRING: testRingText,
  SMTP_URL: mail.url,
  SMTP_CA_FILE: caFile,
  MAIL_FROM: 'no-reply@scores.example.org',
}
const provider = await startOidcServer(`${publicUrl}/sign-in/oidc/callback`)
Object.assign(env, provider.env)
const [one, other] = await Promise.all([startServer(env), startServer(env)])
after(async () => {
  await provider.stop()
  await mail.stop()
  await database.drop()
})

/** Texts in which no session value, link token, key or password may occur. */
const left: string[] = []

function keep(reply: Reply): Reply {
  // The body of a page may hold the token of its own request; a header never may. The way to the
  // provider holds the state and the nonce.
  const { location } = reply.headers
  const isToProvider = location?.startsWith(provider.issuer)
  const hidden = { 'set-cookie': undefined, ...(isToProvider && { location: undefined }) }
  left.push(JSON.stringify({ ...reply.headers, ...hidden }))
  return reply
}

async function asked(base: string, question: Question): Promise<Reply> {
  return keep(await ask(base, question))
}

let callers = 0
const newCaller = () => ({ 'X-Forwarded-For': `203.0.113.${++callers}` })

function form(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  return {
    method: 'POST',
    path,
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Origin: publicUrl,
      ...newCaller(),
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  }
}

async function nextMail(server: MailServer, count: number): Promise<ReceivedMail> {
  await eventually(`mail ${count} arrives`, { see: async () => server.received.length >= count })
  return server.received[count - 1] as ReceivedMail
}

function cookieOf({ headers }: Reply): string {
  return String(headers['set-cookie']?.[0]).split(';')[0] ?? ''
}

function pathOf(link: string): string {
  return link.slice(publicUrl.length)
}

/** Returns the token of a sign-in link, or of an invitation. */
function tokenOf(link: string): string {
  const { searchParams, pathname } = new URL(link)
  return searchParams.get('token') ?? /^\/invitations\/(.+)$/.exec(pathname)?.[1] ?? ''
}

const canaries: Record<string, string> = {
  'SMTP password': 'smtp-CANARY-password',
  'key of the keyring': testRingText.slice('k1:'.length),
}

async function sessions(node: ServerProcess, cookie: string): Promise<Reply> {
  return asked(node.base, { path: '/api/account/webhooks/endpoints', headers: { Cookie: cookie } })
}

/** Uses the nine session routes of the specification, on the two nodes in turn. */
async function useEveryRoute(cookie: string): Promise<void> {
  const headers = { Cookie: cookie, Origin: publicUrl }
  const { createAccountWebhookEndpoint: create } = accountRequests(headers, { endpointId: '' })
  const created = await asked(one.base, create as Question)
  assert.equal(created.status, 201, String(created.body))
  const { endpoint, signingSecret } = JSON.parse(String(created.body))
  canaries['webhook secret'] = signingSecret
  const requests = Object.entries(accountRequests(headers, { endpointId: endpoint.id })).filter(
    ([operation]) => operation !== 'createAccountWebhookEndpoint',
  )
  assert.equal(requests.length, 8)
  for (const [i, [operation, question]] of requests.entries()) {
    const reply = await asked((i % 2 === 0 ? other : one).base, question)
    assert.equal(
      reply.status,
      goodStatus[operation] ?? 200,
      `${operation}: ${reply.body.toString()}`,
    )
    left.push(String(reply.body))
  }
}

test('a user signs in by mail on one node and uses every session route; after sign-out both nodes reject the cookie', async () => {
  const { account } = await report(['accounts', 'create', 'acme'], env)
  const userId = (account as { id: string }).id
  await lock(db, userId)
  const invited = await report(['users', 'invite', 'Ada@Example.com', '--account', 'acme'], env)
  assert.equal(invited.changed, true)
  const invitation = await nextMail(mail, 1)
  assert.deepEqual(invitation.to, ['ada@example.com'])
  assert.equal(invitation.from, '"assay" <no-reply@scores.example.org>')
  assert.ok(invitation.link.startsWith(`${publicUrl}/invitations/`))
  canaries['invitation token'] = tokenOf(invitation.link)
  const joined = await asked(other.base, form(pathOf(invitation.link), { do: 'join' }))
  assert.equal(joined.headers.location, '/dashboard')
  assert.equal((await sessions(one, cookieOf(joined))).status, 200)

  const requested = await asked(
    one.base,
    form('/sign-in', { email: ' ADA@example.com ', next: '/dashboard?tab=keys' }),
  )
  assert.equal(requested.status, 303)
  assert.equal(requested.headers.location, '/sign-in/sent')
  const { link, html, subject } = await nextMail(mail, 2)
  assert.equal(subject, 'Sign in to scores.example.org')
  assert.ok(link.startsWith(`${publicUrl}/sign-in/confirm?token=`))
  assert.ok(html.includes(link), 'the HTML has the same link')
  const token = tokenOf(link)
  canaries['link token'] = token

  for (let look = 0; look < 3; look++) {
    const page = await asked(other.base, { path: new URL(link).pathname + new URL(link).search })
    assert.equal(page.status, 200, 'a mail scanner opens it, and uses nothing up')
    assert.match(String(page.body), /ada@example\.com/)
    assert.equal(page.headers['set-cookie'], undefined)
  }
  const fixed = `${cookieName}=${'A'.repeat(43)}`
  const confirmed = await asked(one.base, form('/sign-in/confirm', { token }, { Cookie: fixed }))
  assert.equal(confirmed.status, 303)
  assert.equal(confirmed.headers.location, '/dashboard?tab=keys')
  const [setCookie = ''] = confirmed.headers['set-cookie'] ?? []
  assert.match(
    setCookie,
    /^__Host-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000; Secure$/,
  )
  const cookie = cookieOf(confirmed)
  assert.notEqual(cookie, fixed, 'the value that the browser sent is not adopted')
  canaries['session value'] = cookie.slice(cookieName.length + 1)

  for (const node of [one, other]) assert.equal((await sessions(node, cookie)).status, 200)
  const again = await asked(other.base, form('/sign-in/confirm', { token }))
  assert.equal(again.status, 410, 'a link works once')
  const home = await asked(other.base, { path: '/dashboard', headers: { Cookie: cookie } })
  assert.match(String(home.body), /ada@example\.com/)

  await useEveryRoute(cookie)
  const out = await asked(other.base, form('/sign-out', {}, { Cookie: cookie }))
  assert.equal(out.status, 303)
  assert.match(String(out.headers['set-cookie']), /^__Host-session=; .*Max-Age=0/)
  for (const node of [one, other]) {
    assert.equal((await sessions(node, cookie)).status, 401, 'a stolen cookie is dead')
    const requests = accountRequests({ Cookie: cookie, Origin: publicUrl }, { endpointId: userId })
    for (const question of Object.values(requests))
      assert.equal((await asked(node.base, question)).status, 401, question.path)
    const page = await asked(node.base, { path: '/sign-in', headers: { Cookie: cookie } })
    assert.match(String(page.body), /Send sign-in link/)
  }
})

test('commands list, disable, enable and erase users and print links; each change is in the audit log', async () => {
  const linkFor = async (email: string) =>
    String((await report(['users', 'sign-in-link', email], env)).url)
  const signIn = async (link: string) =>
    cookieOf(await asked(one.base, form('/sign-in/confirm', { token: tokenOf(link) })))
  const link = await linkFor('ada@example.com')
  assert.ok(link.startsWith(`${publicUrl}/sign-in/confirm?token=`))
  const cookie = await signIn(link)
  assert.equal((await sessions(other, cookie)).status, 200)
  const { members } = await report(['accounts', 'members', 'acme'], env)
  assert.deepEqual(
    (members as { email: string; role: string }[]).map(({ email, role }) => [email, role]),
    [['ada@example.com', 'owner']],
  )

  const unused = await linkFor('ada@example.com')
  await report(['users', 'disable', 'ada@example.com'], env)
  assert.equal((await sessions(one, cookie)).status, 401)
  const refused = await asked(one.base, form('/sign-in/confirm', { token: tokenOf(unused) }))
  assert.equal(refused.status, 410, 'the link of a disabled user')
  assert.match((await assay(['users', 'sign-in-link', 'ada@example.com'], env)).err, /is disabled/)
  await report(['users', 'enable', 'ada@example.com'], env)
  const back = await signIn(await linkFor('ada@example.com'))
  assert.equal((await sessions(one, back)).status, 200)

  const hesitant = await assay(['users', 'erase', 'ada@example.com'], env)
  assert.equal(hesitant.ended, 2)
  const { users } = await report(['users', 'list'], env)
  const [{ id }] = users as [{ id: string }]
  assert.equal((await report(['users', 'erase', 'ada@example.com', '--yes'], env)).userId, id)
  assert.equal((await sessions(one, back)).status, 401)
  assert.ok(!(await everythingStored(database.url)).includes('ada@example.com'), 'nothing is left')

  const entries = await db.rows<{ action: string; subjects: string }>(sql`
    select action, subjects from audit_log where action like 'users.%' order by seq`)
  assert.deepEqual(
    entries.map(({ action }) => action),
    [
      'users.invited',
      'users.joined',
      'users.link_made',
      'users.link_made',
      'users.disabled',
      'users.enabled',
      'users.link_made',
      'users.erased',
    ],
  )
  for (const { subjects } of entries.slice(1)) assert.equal(subjects, `["${id}"]`)
  assert.equal((await assay(['users', 'erase', 'ada@example.com', '--yes'], env)).ended, 1)
  assert.equal((await assay(['users', 'invite', 'no address', '--account', 'acme'], env)).ended, 2)
})

/** Signs a user in with the provider on two nodes, then fails in every way with the same values. */
async function useProvider(): Promise<void> {
  const begun = await asked(one.base, { path: '/sign-in/oidc', headers: newCaller() })
  const cookie = cookieOf(begun)
  const [state = '', nonce = '', verifier = ''] = cookie.split('=')[1]?.split('.') ?? []
  const back = await provider.signIn(String(begun.headers.location))
  const code = new URL(back).searchParams.get('code') ?? ''
  Object.assign(canaries, { state, nonce, verifier, code })
  const path = back.slice(publicUrl.length)
  const comeBack = (path: string, sent = cookie) =>
    asked(other.base, { path, headers: { Cookie: sent, ...newCaller() } })
  provider.hasForeignSignature = true
  const failures = [await comeBack(path)]
  provider.hasForeignSignature = false
  failures.push(
    await comeBack(path),
    await comeBack(path, ''),
    await comeBack(path, `${cookie}x`),
    await comeBack(`${path}&code=${code}`),
    await comeBack(path.replace('iss=', 'iss=x')),
    await comeBack(`/sign-in/oidc/callback?state=${state}&error=${code}`),
    await comeBack(`/sign-in/oidc/callback/${code}?state=${state}&nonce=${nonce}`),
  )
  for (const { status, body } of failures) {
    assert.ok(status >= 400, String(body))
    left.push(String(body))
  }
  const again = await asked(one.base, { path: '/sign-in/oidc', headers: newCaller() })
  const second = await provider.signIn(String(again.headers.location))
  const signedIn = await comeBack(second.slice(publicUrl.length), cookieOf(again))
  assert.equal(signedIn.status, 303, String(signedIn.body))
  canaries['session value of the provider'] = cookieOf(signedIn).split('=')[1] ?? ''
  canaries['redeemed code'] = new URL(second).searchParams.get('code') ?? ''
  canaries['used verifier'] = cookieOf(again).split('.')[2] ?? ''
  for (const [i, secret] of provider.secrets.entries()) canaries[`secret ${i}`] = secret
  assert.ok(provider.secrets.length >= 5, 'the client secret, and two tokens of each sign-in')
}

test('no session value, link token, code, API key, secret or password is in logs, metrics, mails, pages, error bodies, or the database', async () => {
  const key = await newKey(db)
  canaries['API key'] = key.key
  await useDashboard(key.accountId)
  await report(['users', 'invite', 'grace@example.com', '--account', 'acme'], env)
  const invitation = await nextMail(mail, 3)
  canaries['second invitation token'] = tokenOf(invitation.link)
  await asked(one.base, form(pathOf(invitation.link), { do: 'join' }))
  await asked(one.base, form('/sign-in', { email: 'grace@example.com' }))
  const { link } = await nextMail(mail, 4)
  provider.user = { sub: 'grace', email: 'grace@example.com', email_verified: true }
  await useProvider()
  canaries['unused link token'] = tokenOf(link)
  const [token, value] = [canaries['unused link token'], canaries['session value'] ?? '']
  const withAll = { Authorization: key.headers.Authorization, Cookie: `${cookieName}=${value}` }
  for (const question of [
    form('/sign-in/confirm', { token }, { ...withAll, Origin: 'null' }),
    form('/sign-in/confirm', { token: `${token}x` }, withAll),
    form('/sign-in', { email: token }, { ...withAll, Origin: 'https://evil.example' }),
    { path: `/sign-in/confirm?token=${token}&token=${token}`, headers: withAll },
    { path: `/nothing/${token}?token=${token}`, headers: withAll },
    { path: `/api/account/webhooks/endpoints?token=${token}`, headers: withAll },
    { path: `/api/account/webhooks/endpoints/${value}/deliveries`, headers: withAll },
    { method: 'PUT', path: `/sign-in/confirm?token=${token}`, headers: withAll },
    ...failingRequests(withAll, Object.values(canaries)),
  ]) {
    const reply = await asked(one.base, question)
    assert.ok(reply.status >= 400, `${question.path}: ${reply.status}`)
    left.push(String(reply.body))
  }
  for (const node of [one, other]) {
    const port = /"metricsPort":(\d+)/.exec(node.out())?.[1]
    const metrics = await ask(`http://127.0.0.1:${port}`, { path: '/metrics' })
    assert.equal(metrics.status, 200)
    left.push(String(metrics.body))
  }
  left.push(await everythingStored(database.url))
  // The only place of a link is its own mail, which goes to its own address.
  for (const { raw, text, html, link } of mail.received)
    for (const part of [raw.replace(/=\r?\n/g, '').replaceAll('=3D', '='), text, html]) {
      assert.ok(part.includes(tokenOf(link)))
      left.push(tokenOf(link) === '' ? part : part.replaceAll(tokenOf(link), ''))
    }
  for (const node of [one, other]) {
    node.signal('SIGINT')
    assert.equal(await node.ended, 0)
    left.push(node.out(), node.err())
  }
  const everything = left.join('\n')
  assert.ok(everything.includes('/sign-in/confirm'), 'the log has the requests')
  assert.ok(everything.includes('/invitations/{token}'), 'the log has the declared path alone')
  assert.ok(!/grace@|ada@/.test(one.out() + other.out()), 'the log names no address')
  for (const [name, canary] of Object.entries(canaries)) {
    assert.ok(canary.length >= 20, name)
    const forms = name.startsWith('webhook secret') ? formsOf(canary) : encodingsOf(canary)
    for (const form of forms) assert.ok(!everything.includes(form), `${name} is somewhere`)
  }
})

/** Makes a key and an endpoint by the forms of the dashboard, and reads every page and list. */
async function useDashboard(accountId: string): Promise<void> {
  const session = await newSession(db, { publicUrl, accountId })
  canaries['session value of the dashboard'] = session.value
  const secretOf = async (path: string, fields: Record<string, string>): Promise<string> => {
    const { status, body } = await asked(one.base, form(path, fields, session.ownOrigin))
    assert.equal(status, 201, path)
    return /<code id="secret"[^>]*>([^<]+)</.exec(String(body))?.[1] ?? ''
  }
  canaries['API key of a form'] = await secretOf('/dashboard/keys/new', {
    do: 'create',
    name: 'a form',
    environment: 'test',
    'scopes:candidates:read': 'on',
  })
  canaries['webhook secret of a form'] = await secretOf('/dashboard/webhooks/new', {
    do: 'create',
    url: 'https://hooks.example.com/form',
    'events:score.updated': 'on',
  })
  const { headers } = session
  const links = new Set<string>()
  for (const path of [...dashboardPaths, '/api/account/webhooks/endpoints']) {
    const { status, body } = await asked(other.base, { path, headers })
    assert.equal(status, 200, path)
    left.push(String(body))
    for (const [, link = ''] of String(body).matchAll(
      /href="(\/dashboard\/(?:keys|webhooks)\/[^"#]+)/g,
    ))
      links.add(link)
  }
  assert.ok(links.size >= 4, 'the page of each key, the endpoint, and the forms')
  for (const path of links) left.push(String((await asked(other.base, { path, headers })).body))
}

function encodingsOf(canary: string): string[] {
  const bytes = Buffer.from(canary)
  return [canary, bytes.toString('hex'), bytes.toString('base64')]
}

/** Returns requests to the session routes that fail and contain a canary in every place. */
function failingRequests(headers: Record<string, string>, values: readonly string[]): Question[] {
  return values.flatMap((value) => {
    const canary = encodeURIComponent(value)
    const own = { ...headers, Origin: publicUrl, 'Idempotency-Key': value.slice(0, 15) }
    const ids = { endpointId: canary, username: canary, scoreId: canary }
    const requests = Object.values(accountRequests(own, { ...ids, idempotencyKey: value }))
    return requests.map(({ path, body, ...question }) => ({
      ...question,
      path: `${path}${path.includes('?') ? '&' : '?'}limit=${canary}&${canary}=${canary}`,
      ...(body !== undefined && { body: JSON.stringify({ [value]: value }) }),
    }))
  })
}
