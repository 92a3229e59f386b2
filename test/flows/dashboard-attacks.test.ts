/**
 * Attacks on the dashboard: forms that two tabs send at once or after their session ended, and
 * texts that break out of a page that forgets to escape them.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { enterCredits } from '../../src/billing/credits/credits.ts'
import { sql } from '../../src/platform/db/db.ts'
import { findAttempts } from '../../src/webhooks/delivery/delivery-store.ts'
import { newKey } from '../support/build/keys.ts'
import { createEndpoint, happen, receiver, startDelivering } from '../support/build/webhooks.ts'
import { ask } from '../support/start/ask.ts'
import { noBrowser, watchFaults } from '../support/start/browser.ts'
import { dashboardPaths, markup, startDashboard } from '../support/start/dashboard.ts'

const dashboard = await startDashboard()
const { base } = dashboard.service
const { db } = dashboard.service.database
after(() => dashboard.service.stop())

test('ten tabs rotate a key at the same time: one gets the new key, and the others are told so', async () => {
  const owner = await dashboard.newUser()
  const { keyId } = await newKey(db, { accountId: owner.accountId })
  const path = `/dashboard/keys/${keyId}`
  const replies = await Promise.all(
    Array.from({ length: 10 }, () =>
      dashboard.send(owner, path, { do: 'rotate', overlapHours: '24' }),
    ),
  )
  const statuses = replies.map(({ status }) => status).sort((a, b) => a - b)
  assert.deepEqual(statuses, [201, ...Array(9).fill(409)])
  for (const { status, body } of replies) {
    const text = String(body)
    assert.equal(/svc_(live|test)_\w{20}/.test(text), status === 201, 'only one page shows a key')
    assert.equal(text.includes('Nothing was changed.'), status === 409)
  }
  const keys = await db.rows(sql`select 1 from api_keys where account_id = ${owner.accountId}`)
  assert.equal(keys.length, 2)
})

test('303: a form of a tab whose session has ended changes nothing, and leads to sign-in', async () => {
  const owner = await dashboard.newUser()
  const { keyId } = await newKey(db, { accountId: owner.accountId })
  await db.run(sql`delete from sessions where user_id = ${owner.userId}`)
  for (const [path, fields] of [
    [`/dashboard/keys/${keyId}`, { do: 'rotate', overlapHours: '0' }],
    ['/dashboard/team', { do: 'invite', email: 'eve@example.com', role: 'owner' }],
    ['/dashboard/webhooks/new', { do: 'create', url: 'https://evil.example/' }],
  ] as const) {
    const { status, headers } = await dashboard.send(owner, path, fields)
    assert.deepEqual([status, headers.location], [303, `/sign-in?next=${encodeURIComponent(path)}`])
  }
  const keys = await db.rows(sql`select 1 from api_keys where account_id = ${owner.accountId}`)
  assert.equal(keys.length, 1)
  const users = await db.rows(sql`select 1 from users where email = 'eve@example.com'`)
  assert.equal(users.length, 0)
})

/** Each breaks out of another place: a text, a quoted value, a title, a script, a comment, a line. */
const naughty = [
  markup,
  `"><svg onload=alert(3)>`,
  `' autofocus onfocus=alert(4) x='`,
  '</title></textarea></style><script>alert(5)</script>',
  '{{constructor.constructor("alert(6)")()}}${alert(7)}',
  'javascript:alert(8)',
  '<!-- &lt;b&gt; ]]>',
  '\u202egpj.\u200b\ufeffexe',
  'W'.repeat(60),
] as const
const allNaughty = naughty.join(' ')

/** An account in which every text that anybody can choose is naughty, and its pages. */
async function naughtyAccount() {
  const owner = await dashboard.newUser()
  const { accountId, userId } = owner
  const key = await newKey(db, { accountId, name: naughty[0], credits: 5 })
  const { url } = await receiver((response) => response.writeHead(503).end(allNaughty))
  const now = new Date()
  const at = new Date(now.getTime() - 120_000)
  const endpoint = await createEndpoint(db, url, { userId: accountId, at })
  await happen(db, 'score.updated', { at: new Date(now.getTime() - 60_000) })
  const delivering = startDelivering(db)
  delivering.moveTo(now)
  await delivering.deliver()
  for (const [i, text] of naughty.entries()) {
    await newKey(db, { accountId, name: text })
    const member = await dashboard.newUser({ accountId, role: 'member' })
    await db.run(sql`
      update users set name = ${text}, email = ${`o'neil+${i}&{{7*7}}@example.com`}
      where id = ${member.userId}`)
    const another = await createEndpoint(db, `https://hooks.example/${text}`, { userId: accountId })
    await db.run(sql`
      update webhook_endpoints set description = ${text}, disabled_at = ${i % 2 === 0 ? now : null},
        disabled_reason = ${i % 2 === 0 ? 'owner' : null}
      where id = ${another.id}`)
    await db.transaction((tx) =>
      enterCredits(tx, { accountId, kind: 'grant', delta: 1, reason: text }),
    )
    await db.run(sql`
      insert into request_log (at, request_id, account_id, key_id, operation, status, error, credits,
        duration_us, network)
      values (now(), ${`naughty-${i}`.padEnd(16, 'x')}, ${accountId}, ${key.keyId}, ${text}, 400,
        ${text}, 0, 1000, ${text})`)
    const { status, body } = await ask(base, {
      method: 'POST',
      path: '/api/v1/agent-decisions',
      headers: {
        ...key.headers,
        'Content-Type': 'application/json',
        'Idempotency-Key': `naughty-report-${i}`,
      },
      body: JSON.stringify({
        subject: { kind: 'candidate', username: 'ada-lovelace' },
        decision: 'shortlisted',
        agentName: text.slice(0, 80),
        agentVersion: text.slice(0, 40),
        jobRef: text.slice(0, 80),
        notes: allNaughty,
        metadata: { [text.slice(0, 40)]: text },
      }),
    })
    assert.equal(status, 201, String(body))
  }
  await db.run(sql`update sessions set browser = ${naughty[1]}, network = ${naughty[1]}
    where user_id = ${userId}`)
  await db.run(sql`update users set name = ${naughty[0]} where id = ${userId}`)
  await db.run(sql`update accounts set name = ${naughty[0]} where id = ${accountId}`)
  const of = { endpointId: endpoint.id, owner: { userId: accountId }, limit: 1 }
  const [attempt] = (await findAttempts(db, of)) ?? []
  await db.run(sql`
    update webhook_attempts set error_cause = ${naughty[0]},
      response_headers = jsonb_build_object('server', ${naughty[0]}::text, ${naughty[1]}::text, '1'),
      signatures = jsonb_build_object('Service-Webhook-Signature', ${naughty[0]}::text)
    where endpoint_id = ${endpoint.id}::uuid`)
  const [report] = await db.rows<{ id: string }>(sql`
    select id from agent_decision_reports where user_id = ${accountId} limit 1`)
  const query = encodeURIComponent(naughty[0])
  const webhook = `/dashboard/webhooks/${endpoint.id}`
  return {
    owner,
    paths: [
      ...dashboardPaths,
      `/dashboard/keys/${key.keyId}`,
      webhook,
      `${webhook}?event=${query}&type=${query}&done=${query}`,
      `${webhook}?state=${query}&answer=${query}&time=${query}&before=${query}&count=${query}`,
      ...['health', 'configuration', 'resend', 'disable', 'rotate', 'replace-secret'].map(
        (change) => `${webhook}/${change}`,
      ),
      `${webhook}/events/${attempt?.eventId}`,
      `/dashboard/requests/${'naughty-0'.padEnd(16, 'x')}`,
      `/dashboard/requests?operation=${query}&key=${query}&status=${query}&error=${query}`,
      `/dashboard/decisions/${report?.id}`,
      `/dashboard/sandbox?call=candidate&value=${query}`,
      `/dashboard/sandbox?call=${query}&value=${query}`,
      `/sign-in?next=${query}`,
    ],
  }
}

/** Pages that show the texts of others. */
const showing = ['/dashboard/usage', '/dashboard/requests', '/dashboard/keys', '/dashboard/team']

/** Lists what a text would have become: a script, a handler, an element or a link of its own. */
const foundIn = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('*')].flatMap((element) => [
    ...[...element.attributes].filter(({ name }) => name.startsWith('on')).map(({ name }) => name),
    ...(element.matches('script:not([src^="/assets/"]), img[src="x"], [href^="javascript:"]')
      ? [element.outerHTML] : []),
  ])`)

test('no text that anybody can choose becomes markup or a script, in any place of any page', {
  skip: noBrowser,
}, async () => {
  const { owner, paths } = await naughtyAccount()
  const context = await dashboard.signedIn(owner)
  const page = await context.newPage()
  const faults = watchFaults(page, base)
  page.on('dialog', (dialog) => {
    faults.push(`a script ran: ${dialog.message()}`)
    void dialog.dismiss()
  })
  for (const path of paths) {
    const response = await page.goto(base + path)
    assert.equal(response?.status(), 200, path)
    assert.deepEqual(await foundIn(page), [], path)
    assert.deepEqual(faults, [], path)
    if (showing.some((one) => path === one))
      assert.ok((await page.getByText(naughty[0]).count()) > 0, `${path} shows the text`)
    // The text is longer than a line, and no page scrolls sideways.
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    assert.equal(await page.evaluate(overflow), 0, path)
  }
  await context.close()
})

test('400: a refused form shows each text as it was typed, and as text', async () => {
  const owner = await dashboard.newUser()
  for (const text of naughty)
    for (const [path, fields] of [
      ['/dashboard/team', { do: 'invite', email: text, role: text }],
      ['/dashboard/keys/new', { do: 'create', name: text, networks: text, environment: text }],
      ['/dashboard/webhooks/new', { do: 'create', url: text, description: text, key: text }],
    ] as const) {
      const { status, body } = await dashboard.send(owner, path, fields)
      assert.equal(status, 400, path)
      if (/[<>"'&]/.test(text)) assert.ok(!String(body).includes(text), `${path} escapes ${text}`)
    }
})

/** Of every page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

test('the tests of all pages know every page of the dashboard that every account has', () => {
  const pages = dashboard.service.pages.flatMap(({ method, path }) =>
    method === 'GET' && /^\/dashboard(\/|$)/.test(path) && !/[:{.]|\/live$/.test(path)
      ? [path]
      : [],
  )
  assert.deepEqual(pages.sort(), [...dashboardPaths].sort())
})

test('every page, also a refusal, has the strict policy and is never stored', async () => {
  const owner = await dashboard.newUser()
  const accept = { Accept: 'text/html' }
  for (const [path, headers] of [
    ...dashboardPaths.map((path) => [path, owner.headers] as const),
    ['/dashboard/nothing', owner.headers],
    ['/dashboard/keys/1', owner.headers],
    ['/dashboard/webhooks/019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f', owner.headers],
    ['/sign-in', {}],
    ['/sign-in/confirm?token=x', {}],
  ] as const) {
    const reply = await ask(base, { path, headers: { ...accept, ...headers } })
    assert.match(String(reply.headers['content-type']), /^text\/html/, path)
    assert.equal(reply.headers['content-security-policy'], policy, path)
    assert.match(String(reply.headers['cache-control']), /no-store/, path)
    assert.match(
      String(reply.headers['permissions-policy']),
      /^camera=\(\), .*microphone=\(\)/,
      path,
    )
    assert.equal(reply.headers['x-content-type-options'], 'nosniff', path)
    assert.doesNotMatch(
      String(reply.body),
      / style="| on[a-z]+="|<script(?! src="\/assets\/)/,
      path,
    )
  }
})
