/** Signing in by mail, with a real mail server and two nodes: invited, mailed, confirmed, signed out, and dead on both. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { newKey } from '../support/build/keys.ts'
import { everythingStored } from '../support/oracle/everything-stored.ts'
import { ask, type Question, type Reply } from '../support/start/ask.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  type MailServer,
  type ReceivedMail,
  startMailServer,
} from '../support/start/mail-server.ts'
import {
  assay,
  type Env,
  eventually,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'
import { testPeppers } from '../support/start/service.ts'

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
  API_KEY_PEPPERS: testPeppers,
  SMTP_URL: mail.url,
  SMTP_CA_FILE: caFile,
  MAIL_FROM: 'no-reply@scores.example.org',
}
const [one, other] = await Promise.all([startServer(env), startServer(env)])
after(async () => {
  await mail.stop()
  await database.drop()
})

/** Everything that a session value, a link token or a password must not occur in. */
const left: string[] = []

function keep(reply: Reply): Reply {
  // The body of a page may hold the token of its own request; a header never may.
  left.push(JSON.stringify({ ...reply.headers, 'set-cookie': undefined }))
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

function tokenOf(link: string): string {
  return new URL(link).searchParams.get('token') ?? ''
}

const canaries: Record<string, string> = { 'SMTP password': 'smtp-CANARY-password' }

async function sessions(node: ServerProcess, cookie: string): Promise<Reply> {
  return asked(node.base, { path: '/api/account/sessions', headers: { Cookie: cookie } })
}

test('a developer is invited, signs in by mail on one node, and the session is dead on both after signing out', async () => {
  await report(['accounts', 'create', 'acme'], env)
  const invited = await report(['users', 'invite', 'Ada@Example.com', '--account', 'acme'], env)
  assert.equal(invited.changed, true)
  const invitation = await nextMail(mail, 1)
  assert.deepEqual(invitation.to, ['ada@example.com'])
  assert.equal(invitation.from, '"assay" <no-reply@scores.example.org>')
  assert.equal(invitation.link, `${publicUrl}/sign-in`)

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
  const home = await asked(other.base, { path: '/sign-in', headers: { Cookie: cookie } })
  assert.match(String(home.body), /ada@example\.com, for the account acme/)

  const out = await asked(other.base, form('/sign-out', {}, { Cookie: cookie }))
  assert.equal(out.status, 303)
  assert.match(String(out.headers['set-cookie']), /^__Host-session=; .*Max-Age=0/)
  for (const node of [one, other]) {
    assert.equal((await sessions(node, cookie)).status, 401, 'a stolen cookie is dead')
    const page = await asked(node.base, { path: '/sign-in', headers: { Cookie: cookie } })
    assert.match(String(page.body), /Send sign-in link/)
  }
})

test('users are managed by the command line: list, members, link, disable, enable, erase; each change is in the audit log', async () => {
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
      'users.link_made',
      'users.link_made',
      'users.disabled',
      'users.enabled',
      'users.link_made',
      'users.erased',
    ],
  )
  for (const { subjects } of entries) assert.equal(subjects, `["${id}"]`)
  assert.equal((await assay(['users', 'erase', 'ada@example.com', '--yes'], env)).ended, 1)
  assert.equal((await assay(['users', 'invite', 'no address', '--account', 'acme'], env)).ended, 2)
})

test('no session value, link token, API key or password is in logs, metrics, headers, error bodies, or the database', async () => {
  const key = await newKey(db)
  canaries['API key'] = key.key
  await report(['users', 'invite', 'grace@example.com', '--account', 'acme'], env)
  await nextMail(mail, 3)
  await asked(one.base, form('/sign-in', { email: 'grace@example.com' }))
  const { link } = await nextMail(mail, 4)
  canaries['unused link token'] = tokenOf(link)
  const [token, value] = [canaries['unused link token'], canaries['session value'] ?? '']
  const withAll = { Authorization: key.headers.Authorization, Cookie: `${cookieName}=${value}` }
  for (const question of [
    form('/sign-in/confirm', { token }, { ...withAll, Origin: 'null' }),
    form('/sign-in/confirm', { token: `${token}x` }, withAll),
    form('/sign-in', { email: token }, { ...withAll, Origin: 'https://evil.example' }),
    { path: `/sign-in/confirm?token=${token}&token=${token}`, headers: withAll },
    { path: `/nothing/${token}?token=${token}`, headers: withAll },
    { path: `/api/account/sessions?token=${token}`, headers: withAll },
    { method: 'DELETE', path: `/api/account/sessions/${value}`, headers: withAll },
    { method: 'PUT', path: `/sign-in/confirm?token=${token}`, headers: withAll },
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
  for (const node of [one, other]) {
    node.signal('SIGINT')
    assert.equal(await node.ended, 0)
    left.push(node.out(), node.err())
  }
  const everything = left.join('\n')
  assert.ok(everything.includes('/sign-in/confirm'), 'the log has the requests')
  assert.ok(!/grace@|ada@/.test(one.out() + other.out()), 'the log names no address')
  for (const [name, canary] of Object.entries(canaries)) {
    assert.ok(canary.length >= 20, name)
    for (const form of [
      canary,
      Buffer.from(canary).toString('hex'),
      Buffer.from(canary).toString('base64'),
    ])
      assert.ok(!everything.includes(form), `${name} is somewhere`)
  }
})
