import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { signInToken } from '../../test/support/build/accounts.ts'
import { newSession } from '../../test/support/build/sessions.ts'
import { ask, type Question, type Reply } from '../../test/support/start/ask.ts'
import { openRaw, post as rawPost } from '../../test/support/start/edge.ts'
import { startService } from '../../test/support/start/service.ts'
import { insertMail } from '../accounts/mail-store.ts'
import { makeLink } from '../accounts/sign-in.ts'
import { sql } from '../platform/db/db.ts'

const publicUrl = 'https://scores.example.org'
const smtp = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'no-reply@example.com' }
const service = await startService(publicUrl, undefined, { env: smtp })
const { db } = service.database
after(() => service.stop())

const formType = { 'Content-Type': 'application/x-www-form-urlencoded' }
const own = { ...formType, Origin: publicUrl }

let callers = 0
const newCaller = () => ({ 'X-Forwarded-For': `198.51.${++callers >> 8}.${callers & 255}` })

function posting(
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Question {
  const body = new URLSearchParams(fields).toString()
  return { method: 'POST', path, headers: { ...own, ...newCaller(), ...headers }, body }
}

const post = (...args: Parameters<typeof posting>) => ask(service.base, posting(...args))

const linkOf = (email: string, now = new Date()) => signInToken(db, email, now)

const confirm = (token: string, headers?: Record<string, string>) =>
  post('/sign-in/confirm', { token }, headers)

function cookieOf({ headers }: Reply): string {
  return String(headers['set-cookie']?.[0]).split(';')[0] ?? ''
}

async function waitingMails(email: string): Promise<number> {
  const rows = await db.rows(sql`select 1 from mails where email = ${email}`)
  return rows.length
}

async function sessionsOf(userId: string): Promise<number> {
  return (await db.rows(sql`select 1 from sessions where user_id = ${userId}`)).length
}

test('the answer to a request for a link is the same, byte for byte, whether or not a user has the address', async () => {
  const known = await newSession(db)
  const disabled = await newSession(db)
  await db.run(sql`update users set disabled_at = now() where id = ${disabled.userId}`)
  const answers = new Set<string>()
  for (const email of [known.email, disabled.email, 'no-user@example.com']) {
    const { status, headers, body } = await post('/sign-in', { email })
    assert.equal(await waitingMails(email), 1, 'each writes one row: the work is the same')
    const { date: _, 'x-request-id': __, ratelimit: ___, ...others } = headers
    answers.add(JSON.stringify([status, others, String(body)]))
  }
  assert.equal(answers.size, 1, [...answers].join('\n'))
})

test('400: an invalid mail address sends nothing, and the page keeps the text in the field', async () => {
  for (const email of [
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@x@y.example',
    'ada@example.com, eve@example.com',
    'ada@example.com;eve@example.com',
    'ada@example.com eve@example.com',
    'ada@x> <evil@y',
    '<ada@example.com>',
    'Ada <ada@example.com>',
    'group: ada@example.com;',
    '"ada"@example.com',
    'ada(comment)@example.com',
    'ada@[127.0.0.1]',
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com\nBcc: eve@example.com',
    'ada\0@example.com',
    'ada\t@example.com',
    'adä@example.com',
    'ada@exämple.com',
    'ada@example..com',
    'ada@.example.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'a.'.repeat(130)}com`,
    'ada%0d%0a@example.com\\',
  ]) {
    const { status, body } = await post('/sign-in', { email })
    assert.equal(status, 400, JSON.stringify(email))
    const page = String(body)
    assert.ok(!page.includes('<evil') && !page.includes('<ada'), 'it is escaped')
  }
  assert.equal((await post('/sign-in', { email: "O'Hara+a&b@example.com" })).status, 303)
  const mails = await db.rows<{ email: string }>(sql`select email from mails where email like 'o%'`)
  assert.deepEqual(mails, [{ email: "o'hara+a&b@example.com" }])
})

test('only POST consumes a link; of ten requests at the same time one signs in', async () => {
  const { email, userId } = await newSession(db)
  const token = await linkOf(email)
  for (let look = 0; look < 3; look++)
    assert.equal((await ask(service.base, { path: `/sign-in/confirm?token=${token}` })).status, 200)
  assert.equal(
    (await ask(service.base, { method: 'HEAD', path: `/sign-in/confirm?token=${token}` })).status,
    200,
  )
  assert.equal(await sessionsOf(userId), 1)
  const replies = await Promise.all(Array.from({ length: 10 }, () => confirm(token)))
  const statuses = replies.map(({ status }) => status).sort((a, b) => a - b)
  assert.deepEqual(statuses, [303, ...Array(9).fill(410)])
  assert.equal(await sessionsOf(userId), 2)
})

test('if a mail was sent twice with two links, one of the links works once', async () => {
  const { email, userId } = await newSession(db)
  const mailId = crypto.randomUUID()
  const now = new Date()
  const tokens = await db.transaction(async (tx) => {
    const mail = { id: mailId, kind: 'sign_in', email, next: null, createdAt: now } as const
    await insertMail(tx, { ...mail, dueAt: null })
    const made = [1, 2].map(() => makeLink(tx, { mailId, userId }, now))
    return Promise.all(made)
  })
  const replies = await Promise.all(tokens.map((token) => confirm(token ?? '')))
  assert.deepEqual(
    replies.map(({ status }) => status).sort((a, b) => a - b),
    [303, 410],
  )
  assert.equal(await sessionsOf(userId), 2)
})

test('410: a link is rejected after 15 minutes, if malformed, and if its user is disabled or has no account', async () => {
  const { email, userId } = await newSession(db)
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)
  const late = await linkOf(email, minutesAgo(15))
  const early = await linkOf(email, minutesAgo(14))
  assert.equal((await confirm(late)).status, 410)
  assert.equal((await ask(service.base, { path: `/sign-in/confirm?token=${late}` })).status, 410)
  assert.equal((await confirm(early)).status, 303)
  for (const token of ['', 'x', late.slice(1), `${late}a`, `${late.slice(0, 42)}=`, 'é'.repeat(43)])
    assert.equal((await confirm(token)).status, 410, token)
  assert.equal((await post('/sign-in/confirm', {})).status, 410)

  const disabled = await linkOf(email)
  await db.run(sql`update users set disabled_at = now() where id = ${userId}`)
  assert.equal((await confirm(disabled)).status, 410)
  await db.run(sql`update users set disabled_at = null where id = ${userId}`)
  assert.equal((await confirm(disabled)).status, 303, 'it was not used up')
  const removed = await linkOf(email)
  await db.run(sql`delete from memberships where user_id = ${userId}`)
  assert.equal((await confirm(removed)).status, 410)
})

test('sign-in never adopts a session value that the browser sent, and ends the session that it had', async () => {
  const victim = await newSession(db)
  const token = await linkOf(victim.email)
  const attackers = `__Host-session=${'A'.repeat(43)}`
  const signedIn = cookieOf(await confirm(token, { Cookie: attackers }))
  assert.notEqual(signedIn, attackers)
  const read = (Cookie: string) =>
    ask(service.base, { path: '/api/account/webhooks/endpoints', headers: { Cookie } })
  assert.equal((await read(attackers)).status, 401)
  assert.equal((await read(signedIn)).status, 200)
  const next = cookieOf(await confirm(await linkOf(victim.email), { Cookie: signedIn }))
  assert.equal((await read(signedIn)).status, 401)
  assert.equal((await read(next)).status, 200)
})

const foreignPaths = [
  'https://evil.example',
  'http:evil.example',
  '//evil.example',
  '///evil.example',
  '////evil.example',
  '/\\evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  '/\\/evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  '/ /evil.example',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,x',
  'evil.example',
  '@evil.example',
  '.evil.example',
  '/..//evil.example',
  '/.//evil.example',
  '/a/..//evil.example',
  '/%2e%2e//evil.example',
  '?next=//evil.example',
  '#//evil.example',
  '/\u2028/evil.example',
  '/é',
  '/a\\b',
  '/x\r\nSet-Cookie: a=b',
  `/${'a'.repeat(600)}`,
  '',
]

test('sign-in redirects only to a path of this service; any other `next` is dropped', async () => {
  const { email } = await newSession(db)
  for (const [i, next] of foreignPaths.entries()) {
    const address = `next${i}@example.com`
    await post('/sign-in', { email: address, next })
    const [mail] = await db.rows<{ next: string | null }>(
      sql`select next from mails where email = ${address}`,
    )
    assert.deepEqual(mail, { next: null }, JSON.stringify(next))
    const page = await ask(service.base, {
      path: `/sign-in?next=${encodeURIComponent(next)}`,
      headers: newCaller(),
    })
    assert.equal(page.status, next.includes('\0') ? 400 : 200)
    assert.ok(!String(page.body).includes('name="next"'), JSON.stringify(next))
  }
  const session = await newSession(db)
  for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example']) {
    const path = `/sign-in?next=${encodeURIComponent(next)}`
    const reply = await ask(service.base, { path, headers: session.headers })
    assert.deepEqual([reply.status, reply.headers.location], [303, '/dashboard'], next)
  }
  for (const next of ['/', '/dashboard', '/dashboard?a=b&c=%2F#d', '/a/b.c~d']) {
    const address = `good-${next.length}@example.com`
    await post('/sign-in', { email: address, next })
    const [mail] = await db.rows<{ id: string; next: string }>(
      sql`select id, next from mails where email = ${address}`,
    )
    assert.equal(mail?.next, next)
    const path = `/sign-in?next=${encodeURIComponent(next)}`
    const reply = await ask(service.base, { path, headers: session.headers })
    assert.equal(reply.headers.location, next)
  }
  assert.equal((await confirm(await linkOf(email))).headers.location, '/dashboard')
})

test('403: a form from another origin changes nothing, and the answer is a page', async () => {
  const { email, headers, userId } = await newSession(db)
  const token = await linkOf(email)
  const { Origin: _, ...unsigned } = own
  for (const origin of [
    {},
    { Origin: 'null' },
    { Origin: 'https://evil.example' },
    { Origin: publicUrl, 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'none' },
  ])
    for (const [path, fields] of [
      ['/sign-in', { email: 'cross@example.com' }],
      ['/sign-in/confirm', { token }],
      ['/sign-out', { everywhere: 'yes' }],
    ] as const) {
      const body = new URLSearchParams(fields).toString()
      const sent = { ...unsigned, ...headers, ...origin }
      const reply = await ask(service.base, { method: 'POST', path, headers: sent, body })
      assert.equal(reply.status, 403)
      assert.match(String(reply.body), /<h1 id="title">This form came from another site<\/h1>/)
    }
  assert.equal(await waitingMails('cross@example.com'), 0)
  assert.equal(await sessionsOf(userId), 1)
  assert.equal((await confirm(token)).status, 303)
})

test('415 and 400: a body that is no well-formed form is rejected', async () => {
  const body = JSON.stringify({ email: 'json@example.com' })
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
    const headers = { ...own, ...newCaller(), 'Content-Type': type }
    const reply = await ask(service.base, { method: 'POST', path: '/sign-in', headers, body })
    assert.equal(reply.status, 415, type)
  }
  for (const [broken, why] of [
    ['email=a%40b.example&email=c%40d.example', /The form parameter email occurs twice\./],
    ['email=%ff', /The form is not valid percent-encoded UTF-8\./],
    ['email=%zz', /The form is not valid/],
    ['email=%00', /The form holds a NUL\./],
  ] as const) {
    const headers = { ...own, ...newCaller() }
    const reply = await ask(service.base, {
      method: 'POST',
      path: '/sign-in',
      headers,
      body: broken,
    })
    assert.equal(reply.status, 400, broken)
    assert.match(String(reply.body), why)
  }
  const long = `email=${'a'.repeat(9_000)}`
  const headers = { ...own, ...newCaller() }
  const reply = await ask(service.base, { method: 'POST', path: '/sign-in', headers, body: long })
  assert.equal(reply.status, 413)
})

const requestFrom = async (address: string, email: string) => {
  const reply = await post('/sign-in', { email }, { 'X-Forwarded-For': address })
  return { status: reply.status, reply }
}
/** Returns how many of the requests were accepted. */
const accepted = async (requests: readonly Promise<{ status: number }>[]) =>
  (await Promise.all(requests)).filter(({ status }) => status === 303).length
const age = (seconds: number) =>
  db.run(sql`
    update mail_budget set spent_at = array(
      select s - make_interval(secs => ${seconds}) from unnest(spent_at) s order by s)`)

test('429: an address gets 3 mails an hour from one network and 10 a day from all that are not its own; a rejected request does not extend the window', async () => {
  const email = 'limited@example.com'
  const office = Array.from({ length: 8 }, (_, n) => requestFrom(`192.0.2.${n}`, email))
  assert.equal(await accepted(office), 3, 'from eight addresses of one network at once')
  const refused = await requestFrom('192.0.2.100', 'LIMITED@example.com')
  assert.equal(refused.status, 429)
  assert.match(String(refused.reply.headers['retry-after']), /^3[56]\d\d$/)
  assert.match(String(refused.reply.body), /Try again in 60 minutes\./)
  const elsewhere = Array.from({ length: 12 }, (_, n) => requestFrom(`198.18.${n}.1`, email))
  assert.equal(await accepted(elsewhere), 7, 'from twelve networks at once')
  assert.equal(await waitingMails(email), 10)
  await age(3_550)
  assert.equal((await requestFrom('192.0.2.101', email)).status, 429)
  await age(86_400 - 3_550 - 60)
  assert.equal((await requestFrom('192.0.2.102', email)).status, 429)
  await age(120)
  const again = Array.from({ length: 8 }, (_, n) => requestFrom(`192.0.2.${n}`, email))
  assert.equal(await accepted(again), 3)
})

test('429: a network address gets 20 mails an hour for all mail addresses', async () => {
  const network = '192.0.2.200'
  const many = Array.from({ length: 25 }, (_, n) => requestFrom(network, `many${n}@example.com`))
  assert.equal(await accepted(many), 20)
  assert.equal((await requestFrom('192.0.2.201', 'many30@example.com')).status, 303)
})

test('a stranger who uses up the mails of an address takes none of those of a network from which its user has signed in', async () => {
  const { email } = await newSession(db)
  const home = { 'X-Forwarded-For': '198.19.7.1' }
  assert.equal((await confirm(await linkOf(email), home)).status, 303)
  const flood = Array.from({ length: 40 }, (_, n) => requestFrom(`198.18.${n + 100}.1`, email))
  assert.equal(await accepted(flood), 10)
  const own = Array.from({ length: 8 }, (_, n) => requestFrom(`198.19.7.${n + 1}`, email))
  assert.equal(await accepted(own), 5)
  await db.run(sql`update user_networks set signed_in_at = signed_in_at - interval '91 days'`)
  await age(3_700)
  assert.equal((await requestFrom('198.19.7.9', email)).status, 429, 'after 90 days it is strange')
})

test('10,000 requests for a link from one address write 20 mails', async () => {
  const lines = [
    'Content-Type: application/x-www-form-urlencoded',
    `Origin: ${publicUrl}`,
    'X-Forwarded-For: 203.0.113.77',
  ]
  let begun = 0
  const flood = async (_: unknown, connectionIndex: number): Promise<void> => {
    const connection = await openRaw(Number(new URL(service.base).port))
    for (let n = 0; n < 500; n++) {
      const email = `flood-${connectionIndex}-${n}%40example.com`
      connection.send(rawPost('/sign-in', `email=${email}`, lines))
      const { status } = await connection.answer()
      if (status === 303) begun++
      else assert.equal(status, 429)
    }
    connection.socket.destroy()
  }
  await Promise.all(Array.from({ length: 20 }, flood))
  assert.equal(begun, 20)
  const rows = await db.rows(sql`select 1 from mails where email like 'flood-%'`)
  assert.equal(rows.length, 20)
})

test('users end one or all of their own sessions, and no session of another user', async () => {
  const mine = await newSession(db)
  const stranger = await newSession(db)
  const second = cookieOf(await confirm(await linkOf(mine.email)))
  const third = cookieOf(await confirm(await linkOf(mine.email)))
  const read = async (Cookie: string) =>
    (await ask(service.base, { path: '/api/account/webhooks/endpoints', headers: { Cookie } }))
      .status
  const out = { Cookie: second }
  const listed = await ask(service.base, { path: '/dashboard/sessions', headers: out })
  const page = String(listed.body)
  assert.deepEqual(
    [page.split('name="session"').length - 1, page.split('This browser').length - 1],
    [2, 1],
  )
  const end = async (session: string) => {
    const reply = await post('/dashboard/sessions', { do: 'end', session }, out)
    const { 'x-request-id': _, date: __, ratelimit: ___, ...others } = reply.headers
    return { status: reply.status, headers: others, body: String(reply.body) }
  }
  const foreign = await end(stranger.sessionId)
  assert.deepEqual(foreign, await end(crypto.randomUUID()), 'a foreign id is answered like unknown')
  assert.equal(await read(stranger.headers.Cookie), 200)
  assert.equal((await end(mine.sessionId)).status, 303)
  assert.deepEqual(
    [await read(mine.headers.Cookie), await read(second), await read(third)],
    [401, 200, 200],
  )
  const everywhere = await post('/sign-out', { everywhere: 'yes' }, out)
  assert.match(String(everywhere.headers['set-cookie']), /^__Host-session=; /)
  assert.deepEqual([await read(second), await read(third)], [401, 401])
  assert.equal(await read(stranger.headers.Cookie), 200)
  assert.equal((await post('/sign-out', {}, out)).status, 303, 'signing out twice is no error')
})

test('pages are never stored or framed, run no foreign script, and send no token in a Referer', async () => {
  for (const path of ['/sign-in', '/sign-in/sent', '/sign-in/confirm?token=x']) {
    const { headers } = await ask(service.base, { path, headers: newCaller() })
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(headers['cache-control'], 'private, no-store')
    assert.equal(headers['referrer-policy'], 'strict-origin')
    const policy = String(headers['content-security-policy'])
    for (const rule of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"])
      assert.ok(policy.includes(rule), rule)
    assert.ok(!policy.includes('unsafe'))
    const cors = Object.keys(headers).filter((name) => name.startsWith('access-control-'))
    assert.deepEqual(cors, [])
  }
})

test('every URL of a page answers', async () => {
  for (const path of ['/sign-in', '/sign-in/sent', '/sign-in/confirm?token=x']) {
    const { body } = await ask(service.base, { path, headers: newCaller() })
    const urls = [...String(body).matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, url = '']) => url)
    assert.ok(urls.length >= 3)
    for (const path of urls) assert.equal((await ask(service.base, { path })).status, 200, path)
  }
})

test('the pages ask for an invitation, and with SIGN_UP=open they do not', async () => {
  const open = await startService(publicUrl, service, { env: { ...smtp, SIGN_UP: 'open' } })
  try {
    for (const [path, invited] of [
      ['/sign-in', /to invite you/],
      ['/sign-in/sent', /If the address was invited/],
    ] as const) {
      assert.match(String((await ask(service.base, { path })).body), invited)
      assert.doesNotMatch(String((await ask(open.base, { path })).body), /invite/)
    }
  } finally {
    await open.stop()
  }
})

test('without a mail server the pages say how to get a link, and a link still works', async () => {
  const silent = await startService('http://localhost:8080')
  try {
    const page = await ask(silent.base, { path: '/sign-in' })
    assert.match(String(page.body), /This service sends no mail\./)
    const local = { ...formType, Origin: 'http://localhost:8080' }
    const body = 'email=ada%40example.com'
    const reply = await ask(silent.base, { method: 'POST', path: '/sign-in', headers: local, body })
    assert.equal(reply.status, 503)
    const { email } = await newSession(silent.database.db, { publicUrl: silent.publicUrl })
    const token = await signInToken(silent.database.db, email)
    const confirmed = await ask(silent.base, {
      method: 'POST',
      path: '/sign-in/confirm',
      headers: local,
      body: `token=${token}`,
    })
    const [cookie = ''] = confirmed.headers['set-cookie'] ?? []
    assert.match(cookie, /^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/)
  } finally {
    await silent.stop()
  }
})
