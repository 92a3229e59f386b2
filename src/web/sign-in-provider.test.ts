/** Sign-in with a real OpenID Connect provider that answers well, wrongly, or not at all. */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { newSession } from '../../test/support/build/sessions.ts'
import { ask, type Reply } from '../../test/support/start/ask.ts'
import { startOidcServer } from '../../test/support/start/oidc-server.ts'
import { eventually } from '../../test/support/start/processes.ts'
import { startService } from '../../test/support/start/service.ts'
import { sessionDigest } from '../accounts/cookies.ts'
import { findValidSessions } from '../accounts/session-store.ts'
import { sessionTimes } from '../accounts/sessions.ts'
import { addMember, disableUser } from '../accounts/users.ts'
import { sql } from '../platform/db/db.ts'
import { openLog } from '../platform/observability/log.ts'

const publicUrl = 'https://scores.example.org'
const callbackUrl = `${publicUrl}/sign-in/oidc/callback`
const provider = await startOidcServer(callbackUrl)
const lines: string[] = []
const log = openLog({ level: 'warn', to: { write: (text) => lines.push(text) } })
const service = await startService(publicUrl, undefined, { env: provider.env, log })
const { db } = service.database
after(async () => {
  await service.close()
  await service.stop()
  await provider.stop()
})
afterEach(() => {
  log.flush()
  provider.changeToken = null
  provider.hasForeignSignature = false
  provider.isSilent = false
  provider.codeSeconds = 60
  lines.length = 0
})

const disable = (email: string) => db.transaction((tx) => disableUser(tx, email, new Date()))

let users = 0

/** Makes a user, who is the next one at the provider. */
async function newMember(over: { email_verified?: unknown } = {}) {
  const n = ++users
  const { accountId } = await newSession(db)
  const email = `user-${n}@example.com`
  const member = { email, accountId, role: 'member' } as const
  const { userId } = await db.transaction((tx) => addMember(tx, member, new Date()))
  provider.user = {
    sub: `subject-${n}`,
    email: `User-${n}@Example.com`,
    email_verified: true,
    ...over,
  }
  return { email, userId }
}

let callers = 0
const caller = () => ({ 'X-Forwarded-For': `198.51.${++callers >> 8}.${callers & 255}` })

function logged(): string {
  log.flush()
  return lines.join('')
}

const get = (path: string, Cookie?: string, node = service) =>
  ask(node.base, { path, headers: { ...caller(), ...(Cookie === undefined ? {} : { Cookie }) } })

/** The cookies that an answer sets, by name; an empty value removes one. */
function cookiesOf({ headers }: Reply): Record<string, string> {
  const pairs = (headers['set-cookie'] ?? []).map((line) => line.split(';')[0] ?? '')
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
}

/** Begins at the service. Returns the URL at the provider and the cookie of the attempt. */
async function begin(next = '', node = service) {
  const reply = await get(
    `/sign-in/oidc${next === '' ? '' : `?next=${encodeURIComponent(next)}`}`,
    undefined,
    node,
  )
  assert.equal(reply.status, 303, String(reply.body))
  return {
    url: String(reply.headers.location),
    cookie: `__Host-sign-in=${cookiesOf(reply)['__Host-sign-in']}`,
    reply,
  }
}

async function atProvider(options?: { declines?: boolean }) {
  const { url, cookie } = await begin()
  return { back: await provider.signIn(url, options), cookie }
}

function comeBack(back: string, cookie?: string, node = service): Promise<Reply> {
  return get(back.slice(publicUrl.length), cookie, node)
}

async function signIn(next?: string, node = service): Promise<Reply> {
  const { url, cookie } = await begin(next, node)
  return comeBack(await provider.signIn(url), cookie, node)
}

async function assertNoSession(reply: Reply, status: number, title: RegExp, userId?: string) {
  assert.equal(reply.status, status, String(reply.body))
  assert.match(String(reply.body), title)
  assert.equal(cookiesOf(reply)['__Host-session'], undefined)
  if (userId === undefined) return
  const rows = await db.rows(sql`select 1 from sessions where user_id = ${userId}`)
  assert.equal(rows.length, 0)
  const known = await db.rows(sql`select 1 from user_identities where user_id = ${userId}`)
  assert.equal(known.length, 0, 'no identity is stored')
}

test('303: a verified address signs its user in, and the browser opens the page that it wanted', async () => {
  const { userId } = await newMember()
  const { url, cookie, reply } = await begin('/dashboard?tab=keys')
  const asked = new URL(url).searchParams
  assert.equal(asked.get('redirect_uri'), callbackUrl)
  assert.equal(asked.get('response_type'), 'code')
  assert.equal(asked.get('code_challenge_method'), 'S256')
  assert.equal(asked.get('scope'), 'openid email')
  const [state, nonce, verifier] = cookie.slice('__Host-sign-in='.length).split('.')
  assert.deepEqual([asked.get('state'), asked.get('nonce')], [state, nonce])
  assert.ok(!url.includes(verifier ?? ''), 'the verifier never leaves through the browser')
  assert.match(
    String(reply.headers['set-cookie']),
    /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=1800; Secure$/,
  )
  const back = await provider.signIn(url)
  const signedIn = await comeBack(back, cookie)
  assert.equal(signedIn.status, 303, String(signedIn.body))
  assert.equal(signedIn.headers.location, '/dashboard?tab=keys')
  const cookies = cookiesOf(signedIn)
  assert.equal(cookies['__Host-sign-in'], '', 'the attempt is over')
  const session = `__Host-session=${cookies['__Host-session']}`
  assert.equal((await get('/api/account/webhooks/endpoints', session)).status, 200)
  const rows = await db.rows(
    sql`select issuer, subject from user_identities where user_id = ${userId}`,
  )
  assert.deepEqual(rows, [{ issuer: provider.issuer, subject: provider.user.sub }])

  const reloaded = await comeBack(back, session)
  assert.deepEqual([reloaded.status, reloaded.headers.location], [303, '/dashboard'])
  const again = await get('/sign-in/oidc?next=/dashboard/keys', session)
  assert.deepEqual([again.status, again.headers.location], [303, '/dashboard/keys'])
})

test('a sign-in that rests on an earlier one at the provider is as old as that one', async () => {
  const { userId } = await newMember()
  const { url } = await begin('/dashboard')
  assert.equal(new URL(url).searchParams.get('max_age'), '2592000')
  const anHourAgo = Math.floor(Date.now() / 1000) - 3_600
  provider.changeToken = (claims) => {
    claims['auth_time'] = anHourAgo
  }
  const signedIn = await signIn()
  provider.changeToken = null
  const { '__Host-session': value = '' } = cookiesOf(signedIn)
  const digest = sessionDigest(value).toString('hex')
  const now = new Date()
  const [session] = await findValidSessions(db, [digest], sessionTimes({ idleDays: 7 }, now))
  assert.deepEqual([session?.userId, session?.signedInAt], [userId, new Date(anHourAgo * 1000)])
})

test('after the first sign-in issuer and subject find the user, even if the address has changed', async () => {
  const { userId } = await newMember()
  assert.equal((await signIn()).status, 303)
  const other = await newSession(db)
  for (const changed of [
    { email: 'new-name@example.com', email_verified: true },
    { email: other.email, email_verified: true },
    { email: 'user@example.com', email_verified: false },
    {},
  ]) {
    provider.user = { sub: provider.user.sub, ...changed }
    assert.equal((await signIn()).status, 303, JSON.stringify(changed))
  }
  const rows = await db.rows(sql`select 1 from sessions where user_id = ${userId}`)
  assert.equal(rows.length, 5)
})

test('an ID token that holds the address needs no further request to the provider', async () => {
  await newMember()
  const { email } = provider.user
  provider.changeToken = (claims) => Object.assign(claims, { email, email_verified: true })
  provider.requests.length = 0
  assert.equal((await signIn()).status, 303)
  assert.ok(!provider.requests.includes('GET /me'))
  provider.changeToken = null
  assert.equal((await signIn()).status, 303)
  assert.ok(provider.requests.includes('GET /me'), 'the address is asked for')
})

for (const verified of [false, 'true', 'false', 1, null, undefined])
  test(`403: email_verified ${JSON.stringify(verified)} starts no session by mail`, async () => {
    const { userId } = await newMember({ email_verified: verified })
    await assertNoSession(await signIn(), 403, /Your mail address is not verified/, userId)
  })

for (const email of ['ada@x> <evil@y', 'a@x.example, b@y.example', '', ['user@example.com'], null])
  test(`403: ${JSON.stringify(email)} is no address, although the provider has verified it`, async () => {
    const { userId } = await newMember()
    provider.user.email = email
    await assertNoSession(await signIn(), 403, /Your mail address is not verified/, userId)
  })

const lies: Record<string, (claims: Record<string, unknown>) => void> = {
  'another nonce': (claims) => Object.assign(claims, { nonce: 'A'.repeat(43) }),
  'no nonce': (claims) => delete claims.nonce,
  'a wrong issuer': (claims) => Object.assign(claims, { iss: 'https://evil.example' }),
  'a wrong audience': (claims) => Object.assign(claims, { aud: 'another-client' }),
  'a past expiry': (claims) => Object.assign(claims, { exp: 1_000_000_000 }),
  'no subject': (claims) => delete claims.sub,
}
for (const [lie, changeToken] of Object.entries(lies))
  test(`503: an ID token with ${lie} is rejected`, async () => {
    const { userId } = await newMember()
    provider.changeToken = changeToken
    await assertNoSession(await signIn(), 503, /The sign-in did not work/, userId)
    assert.match(logged(), /the sign-in provider failed/)
  })

test('503: an ID token with a foreign signature is rejected', async () => {
  const { userId } = await newMember()
  provider.hasForeignSignature = true
  await assertNoSession(await signIn(), 503, /The sign-in did not work/, userId)
})

test('400: a tampered callback is rejected, and the provider is not discovered again', async () => {
  const { userId } = await newMember()
  const { back, cookie } = await atProvider()
  const iss = `iss=${encodeURIComponent(provider.issuer)}`
  assert.ok(back.includes(iss))
  provider.requests.length = 0
  for (const wrong of [
    back.replace(iss, 'iss=https%3A%2F%2Fevil.example'),
    back.replace(iss, 'x=y'),
    back.replace(/code=[^&]*/, 'code='),
    back.replace(/code=[^&]*/, 'x=y'),
    back.replace(/code=[^&]*/, 'error=made_up'),
    back.replace(/code=[^&]*/, 'code=another'),
  ])
    await assertNoSession(await comeBack(wrong, cookie), 400, /cannot be completed/, userId)
  const down = back.replace(/code=[^&]*/, 'error=server_error')
  await assertNoSession(await comeBack(down, cookie), 503, /did not work/, userId)
  assert.equal((await signIn()).status, 303)
  const discoveries = provider.requests.filter((request) => request.includes('/.well-known/'))
  assert.deepEqual(discoveries, [], 'its configuration is kept')
})

test('400: a used code, an expired code and the code of another browser are rejected', async () => {
  await newMember()
  const used = await atProvider()
  assert.equal((await comeBack(used.back, used.cookie)).status, 303)
  await assertNoSession(await comeBack(used.back, used.cookie), 400, /cannot be completed/)

  const { userId } = await newMember()
  provider.codeSeconds = 1
  const late = await atProvider()
  const code = new URL(late.back).searchParams.get('code') ?? ''
  await eventually('the code expires', { see: async () => !(await provider.isCodeValid(code)) })
  await assertNoSession(await comeBack(late.back, late.cookie), 400, /cannot be completed/, userId)

  provider.codeSeconds = 60
  const [mine, victims] = [await atProvider(), await begin()]
  await assertNoSession(await comeBack(mine.back, victims.cookie), 400, /cannot be completed/)
  await assertNoSession(await comeBack(mine.back), 400, /cannot be completed/)
  const stolen = new URL(mine.back)
  stolen.searchParams.set(
    'state',
    victims.cookie.slice('__Host-sign-in='.length).split('.')[0] ?? '',
  )
  await assertNoSession(await comeBack(stolen.href, victims.cookie), 400, /cannot be completed/)
})

test('400: a malformed callback or cookie reaches neither the provider nor a session', async () => {
  const { cookie } = await begin()
  const state = cookie.slice('__Host-sign-in='.length).split('.')[0]
  provider.requests.length = 0
  for (const [path, sent] of [
    ['', cookie],
    ['?state=', cookie],
    [`?code=x&state=${state}x`, cookie],
    [`?code=x&state=${state}&state=${state}`, cookie],
    [`?code=x&state=${state}`, `${cookie}; ${cookie}`],
    [`?code=x&state=${state}`, '__Host-sign-in=x'],
    [`?code=x&state=${state}`, `__Host-sign-in=${state}`],
    [`?code=x&state=${state}`, cookie.replace('__Host-', '')],
    [`?code=%ff&state=${state}`, cookie],
  ] as const) {
    const reply = await get(`/sign-in/oidc/callback${path}`, sent)
    assert.equal(reply.status, 400, path)
  }
  assert.deepEqual(provider.requests, [])
})

test('a changed page in the cookie of the attempt cannot lead to another site', async () => {
  await newMember()
  for (const next of ['//evil.example', 'https://evil.example', '/\\evil.example']) {
    const { back, cookie } = await atProvider()
    const changed = `${cookie}${Buffer.from(next).toString('base64url')}`
    assert.equal((await comeBack(back, changed)).headers.location, '/dashboard', next)
  }
})

test('403: a user who cancels at the provider is told so, and can begin again', async () => {
  const { userId } = await newMember()
  const { back, cookie } = await atProvider({ declines: true })
  const reply = await comeBack(back, cookie)
  await assertNoSession(reply, 403, /You cancelled the sign-in/, userId)
  assert.match(String(reply.body), /href="\/sign-in\/oidc"/)
  assert.equal(cookiesOf(reply)['__Host-sign-in'], '')
  assert.equal((await signIn()).status, 303)
})

test('403: with invitations alone an unknown address gets no user', async () => {
  provider.user = { sub: 'stranger', email: 'stranger@example.com', email_verified: true }
  await assertNoSession(await signIn(), 403, /You are not invited yet/)
  const rows = await db.rows(sql`select 1 from users where email = 'stranger@example.com'`)
  assert.equal(rows.length, 0)
})

test('403: a disabled user does not sign in, neither by mail nor by subject', async () => {
  const first = await newMember()
  await disable(first.email)
  await assertNoSession(await signIn(), 403, /Your user is disabled/, first.userId)
  const known = await newMember()
  assert.equal((await signIn()).status, 303)
  await disable(known.email)
  assert.equal((await signIn()).status, 403)
  const rows = await db.rows(sql`select 1 from sessions where user_id = ${known.userId}`)
  assert.equal(rows.length, 0)
})

test('403: another identity that gets the address of a user does not sign in as this user', async () => {
  const { userId } = await newMember()
  assert.equal((await signIn()).status, 303)
  await db.run(sql`delete from sessions`)
  provider.user = { ...provider.user, sub: 'successor' }
  const reply = await signIn()
  assert.equal(reply.status, 403)
  assert.match(String(reply.body), /belongs to another identity/)
  const rows = await db.rows(sql`select 1 from sessions where user_id = ${userId}`)
  assert.equal(rows.length, 0)
})

test('of two first sign-ins at the same time both sign in, with one identity', async () => {
  const { userId } = await newMember()
  const attempts = await Promise.all([atProvider(), atProvider(), atProvider()])
  const replies = await Promise.all(attempts.map(({ back, cookie }) => comeBack(back, cookie)))
  assert.deepEqual(
    replies.map(({ status }) => status),
    [303, 303, 303],
  )
  const rows = await db.rows(sql`select 1 from user_identities where user_id = ${userId}`)
  assert.equal(rows.length, 1)
})

test('with SIGN_UP=open a verified address gets a user, an account and its credits, once', async () => {
  const env = { ...provider.env, SIGN_UP: 'open', SIGN_UP_CREDITS: '70' }
  const open = await startService(publicUrl, service, { env })
  try {
    provider.user = { sub: 'newcomer', email: 'newcomer@example.com', email_verified: 'true' }
    assert.equal((await signIn('', open)).status, 403)
    provider.user.email_verified = true
    for (let time = 0; time < 2; time++) assert.equal((await signIn('', open)).status, 303)
    const accounts = await db.rows(sql`
      select m.role, c.balance::int as balance from users u join memberships m on m.user_id = u.id
      join credit_accounts c on c.account_id = m.account_id where u.email = 'newcomer@example.com'`)
    assert.deepEqual(accounts, [{ role: 'owner', balance: 70 }])
    const page = await get('/sign-in', undefined, open)
    assert.match(String(page.body), /Sign in with 127\.0\.0\.2:\d+: the first sign-in makes one/)
  } finally {
    await open.close()
    await open.stop()
  }
})

test('503: a silent provider is named on the page, and a sign-in works once it answers again', async () => {
  const { userId } = await newMember()
  const { back, cookie } = await atProvider()
  provider.isSilent = true
  const began = performance.now()
  await assertNoSession(
    await comeBack(back, cookie),
    503,
    /127\.0\.0\.2:\d+ does not answer/,
    userId,
  )
  const many = await Promise.all(Array.from({ length: 40 }, () => get('/sign-in/oidc')))
  assert.ok(many.every(({ status }) => status === 503))
  assert.ok(performance.now() - began < 15_000, 'no request waits for long')
  assert.match(logged(), /too many sign-ins wait for it/)
  assert.match(logged(), /timeout/)
  assert.equal((await get('/sign-in')).status, 200)
  provider.isSilent = false
  assert.equal((await signIn()).status, 303)
})

test('a provider that is down does not stop the start, and signs users in once it is up', async () => {
  const port = Number(new URL(provider.issuer).port)
  const node = await startService(publicUrl, service, {
    env: { ...provider.env, OIDC_ISSUER: 'http://127.0.0.2:1', OIDC_NAME: 'Example & Sons' },
  })
  try {
    const reply = await get('/sign-in/oidc', undefined, node)
    assert.equal(reply.status, 503)
    assert.match(String(reply.body), /Example &amp; Sons does not answer as it should/)
  } finally {
    await node.close()
    await node.stop()
  }
  await provider.stop()
  const late = await startService(publicUrl, service, { env: provider.env })
  try {
    assert.equal((await get('/sign-in/oidc', undefined, late)).status, 503)
    const again = await startOidcServer(callbackUrl, { port })
    try {
      assert.equal((await get('/sign-in/oidc', undefined, late)).status, 303)
    } finally {
      await again.stop()
    }
  } finally {
    await late.close()
    await late.stop()
  }
})
