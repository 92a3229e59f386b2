/** The dashboard in Chromium: every page, every form, with scripts and without. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { findAttempts } from '../../src/webhooks/delivery/delivery-store.ts'
import { newSession, type TestSession } from '../support/build/sessions.ts'
import { createEndpoint, happen, receiver, startDelivering } from '../support/build/webhooks.ts'
import { ask } from '../support/start/ask.ts'
import { inspectUrl, noBrowser, openBrowser, watchFaults } from '../support/start/browser.ts'
import { startService, type TestService } from '../support/start/service.ts'

const publicUrl = 'http://localhost:8080'
let service: TestService
let session: TestSession

before(async () => {
  service = await startService(publicUrl)
  session = await newSession(service.database.db, { publicUrl })
})
after(() => service.stop())

/** A browser that is signed in. */
async function signedIn(
  of: TestSession = session,
  options: { javaScriptEnabled?: boolean } = {},
): Promise<BrowserContext> {
  const browser = await openBrowser()
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  context.setDefaultTimeout(10_000)
  await context.addCookies([{ name: 'session', value: of.value, url: service.base }])
  return context
}

async function visit(
  path: string,
  options: { of?: TestSession; javaScriptEnabled?: boolean } = {},
): Promise<{ page: Page; faults: string[] }> {
  const { of, ...more } = options
  const page = await (await signedIn(of, more)).newPage()
  const faults = watchFaults(page, service.base)
  await page.goto(service.base + path)
  return { page, faults }
}

const pages = [
  '/dashboard',
  '/dashboard/webhooks',
  '/dashboard/webhooks/new',
  '/dashboard/sessions',
]

test('every page of a new account: axe finds nothing, nothing scrolls sideways, the console is empty', {
  skip: noBrowser,
}, async () => {
  const context = await signedIn()
  for (const path of pages) await inspectUrl(context, service.base + path, `new ${path.slice(1)}`)
  await context.close()
})

test('every URL of every page answers', async () => {
  const seen = new Set<string>()
  for (const path of pages) {
    const { body } = await ask(service.base, { path, headers: session.headers })
    const urls = [...String(body).matchAll(/(?:href|src|action)="(\/[^"#]*)"/g)]
    for (const [, url = ''] of urls) seen.add(url)
  }
  assert.ok(seen.size > 5)
  for (const path of seen) {
    const { status } = await ask(service.base, { path, headers: session.headers })
    // A form of another page is asked for by GET here.
    assert.ok([200, 303, 405].includes(status), `${path} ${status}`)
  }
})

test('303: a visitor without a session signs in first, and comes back to the page', async () => {
  const { status, headers } = await ask(service.base, { path: '/dashboard/sessions?done=ended' })
  assert.equal(status, 303)
  assert.equal(headers.location, '/sign-in?next=%2Fdashboard%2Fsessions%3Fdone%3Dended')
  assert.equal(headers['cache-control'], 'private, no-store')
})

test('404: a browser gets a page, every other caller the closed error body', async () => {
  const page = await ask(service.base, {
    path: '/nothing-here',
    headers: { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' },
  })
  assert.equal(page.status, 404)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(String(page.body), /Page not found/)
  assert.match(String(page.headers['content-security-policy']), /require-trusted-types-for/)
  for (const Accept of ['*/*', 'application/json', 'text/html;q=0.5, application/json']) {
    const { status, body } = await ask(service.base, { path: '/nothing-here', headers: { Accept } })
    assert.equal(status, 404)
    assert.equal(JSON.parse(String(body)).error, 'not_found', Accept)
  }
})

test('403: a form from another origin changes nothing, and the answer is a page', async () => {
  const { status, headers, body } = await ask(service.base, {
    method: 'POST',
    path: '/dashboard/sessions',
    headers: {
      ...session.headers,
      Origin: 'https://evil.example',
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: `do=end&session=${session.sessionId}`,
  })
  assert.equal(status, 403)
  assert.match(String(headers['content-type']), /html/)
  assert.match(String(body), /came from another site/)
})

test('a user signs another browser out, without scripts; the session of another user stays', {
  skip: noBrowser,
}, async () => {
  const { db } = service.database
  const owner = await newSession(db, { publicUrl })
  const stranger = await newSession(db, { publicUrl })
  const { page, faults } = await visit('/dashboard/sessions', {
    of: owner,
    javaScriptEnabled: false,
  })
  await page.getByText('This browser').waitFor()
  const post = (id: string) =>
    ask(service.base, {
      method: 'POST',
      path: '/dashboard/sessions',
      headers: { ...owner.ownOrigin, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `do=end&session=${id}`,
    })
  assert.equal((await post(stranger.sessionId)).status, 303)
  const stays = await ask(service.base, { path: '/dashboard', headers: stranger.headers })
  assert.equal(stays.status, 200)
  await page.locator('summary', { hasText: 'your account' }).click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  const { status } = await ask(service.base, { path: '/dashboard', headers: owner.headers })
  assert.equal(status, 303)
  assert.deepEqual(faults, [])
  await page.context().close()
})

const formType = { 'Content-Type': 'application/x-www-form-urlencoded' }

function send(of: TestSession, path: string, fields: Record<string, string>) {
  const headers = { ...of.ownOrigin, ...formType }
  const body = new URLSearchParams(fields).toString()
  return ask(service.base, { method: 'POST', path, headers, body })
}

const markup = `</code></pre><script>alert(1)</script><img src=x onerror=alert(2)>"'﷽`

/** An account with one endpoint that takes everything and one that fails. */
async function busyAccount() {
  const { db } = service.database
  const owner = await newSession(db, { publicUrl })
  const server = await receiver((response, { path }) =>
    path.endsWith('/broken')
      ? response.writeHead(503).end(markup)
      : response.writeHead(200).end('{"taken":true}'),
  )
  const userId = owner.accountId
  const now = new Date()
  const at = new Date(now.getTime() - 120_000)
  const good = await createEndpoint(db, server.url, { userId, at })
  const broken = await createEndpoint(db, `${server.url}/broken`, { userId, at })
  await happen(db, 'score.updated', { count: 5, at: new Date(now.getTime() - 60_000) })
  const delivering = startDelivering(db)
  delivering.moveTo(now)
  await delivering.deliver()
  const [failed] =
    (await findAttempts(db, { endpointId: broken.id, owner: { userId }, limit: 1 })) ?? []
  assert.ok(failed !== undefined)
  return { owner, good, broken, failed, delivering }
}

test('every webhook page of a busy account: axe finds nothing, and no text of a receiver becomes markup', {
  skip: noBrowser,
}, async () => {
  const { owner, good, broken, failed } = await busyAccount()
  const context = await signedIn(owner)
  const endpoint = `/dashboard/webhooks/${broken.id}`
  for (const [name, path] of Object.entries({
    home: '/dashboard',
    webhooks: '/dashboard/webhooks',
    'endpoint good': `/dashboard/webhooks/${good.id}`,
    'endpoint failing': endpoint,
    'endpoint filtered': `${endpoint}?status=succeeded`,
    event: `${endpoint}/events/${failed.eventId}`,
    disable: `${endpoint}/disable`,
    rotate: `${endpoint}/rotate`,
    replace: `${endpoint}/replace-secret`,
  }))
    await inspectUrl(context, service.base + path, `busy ${name}`)
  const page = await context.newPage()
  page.on('dialog', () => assert.fail('a script of a receiver ran'))
  await page.goto(`${service.base}${endpoint}/events/${failed.eventId}`)
  assert.equal(await page.locator('#answer').textContent(), markup)
  await context.close()
})

for (const javaScriptEnabled of [true, false])
  test(`a member adds an endpoint, tests it, rotates, replaces and disables it, ${javaScriptEnabled ? 'with' : 'without'} scripts`, {
    skip: noBrowser,
  }, async () => {
    const { db } = service.database
    const owner = await newSession(db, { publicUrl })
    const { page, faults } = await visit('/dashboard/webhooks', { of: owner, javaScriptEnabled })
    await page.getByRole('link', { name: 'Add endpoint' }).click()
    await page.getByLabel('URL').fill('http://hooks.example.com/')
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByText('The endpoint was not added.').waitFor()
    assert.equal(faults.splice(0).length, 1, 'the browser notes the status 400')
    assert.equal(await page.getByLabel('URL').inputValue(), 'http://hooks.example.com/')
    await page.getByLabel('URL').fill('https://hooks.example.com/assay')
    await page.getByLabel('Description').fill('Payroll')
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    const secret = await page.locator('#secret').textContent()
    assert.match(secret ?? '', /^whsec_[\w-]{43}$/)
    const done = page.getByRole('button', { name: 'Done' })
    assert.equal(await done.isDisabled(), javaScriptEnabled)
    if (javaScriptEnabled) await page.getByLabel('I have stored it').check()
    await done.click()
    await page.getByRole('heading', { name: 'hooks.example.com/assay' }).waitFor()
    const endpointUrl = page.url().replace(/\?.*/, '')

    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByText('The event is on its way.').waitFor()
    await page.goto(endpointUrl)
    const again = page.getByRole('button', { name: 'Send test event' })
    assert.equal(await again.isDisabled(), javaScriptEnabled)
    await page
      .getByText(javaScriptEnabled ? /Next test event in \d+ s/ : 'Next test event after')
      .waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Events wait until you resume it.').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('The endpoint receives again.').waitFor()

    await page.getByRole('link', { name: 'Rotate secret', exact: true }).last().click()
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    const announced = await page.locator('#secret').textContent()
    assert.notEqual(announced, secret)
    await page.goto(endpointUrl)
    await page.getByRole('button', { name: 'Activate it now' }).click()
    await page.getByText('The new secret signs now.').waitFor()
    await page.getByText((announced ?? '').slice(0, 18)).waitFor()

    await page.getByRole('link', { name: 'Replace a leaked secret' }).last().click()
    const replace = page.getByRole('button', { name: 'Replace secret' })
    assert.equal(await replace.isDisabled(), javaScriptEnabled)
    await page.getByLabel(/to confirm/).fill('hooks.example.com')
    await replace.click()
    const replaced = await page.locator('#secret').textContent()
    await page.goto(endpointUrl)
    await page.getByText((replaced ?? '').slice(0, 18)).waitFor()

    await page.goto(`${endpointUrl}/disable`)
    await page.getByLabel(/to confirm/).fill('hooks.example.com')
    await page.getByRole('button', { name: 'Disable endpoint' }).click()
    await page.getByText('The endpoint is disabled.').waitFor()
    await page.getByRole('link', { name: 'hooks.example.com/assay' }).click()
    await page.getByRole('button', { name: 'Enable endpoint' }).click()
    await page.getByText('The endpoint is enabled.').waitFor()
    assert.deepEqual(faults, [])
    await page.context().close()
  })

test('a form that is sent twice adds one endpoint, and shows the same secret', async () => {
  const owner = await newSession(service.database.db, { publicUrl })
  const fields = {
    do: 'create',
    key: 'one-form-sent-twice',
    url: 'https://twice.example.com/',
    description: '',
    'events:score.updated': 'on',
  }
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => send(owner, '/dashboard/webhooks/new', fields)),
  )
  const secrets = replies.map(({ status, body }) => {
    assert.equal(status, 201)
    return /whsec_[\w-]{43}/.exec(String(body))?.[0]
  })
  assert.equal(new Set(secrets).size, 1)
  const list = await ask(service.base, {
    path: '/api/account/webhooks/endpoints',
    headers: owner.headers,
  })
  assert.equal(JSON.parse(String(list.body)).endpoints.length, 1)
})

test('404: every webhook page and form answers for a foreign endpoint as for an unknown one', async () => {
  const { db } = service.database
  const owner = await newSession(db, { publicUrl })
  const stranger = await newSession(db, { publicUrl })
  const { id } = await createEndpoint(db, 'https://mine.example.com/', { userId: owner.accountId })
  const unknown = '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f'
  const event = 'evt_019e25b6d9d870008000000000000001'
  for (const rest of ['', '/disable', '/rotate', '/replace-secret', `/events/${event}`]) {
    const read = (endpoint: string) =>
      ask(service.base, {
        path: `/dashboard/webhooks/${endpoint}${rest}`,
        headers: stranger.headers,
      })
    const [foreign, none] = [await read(id), await read(unknown)]
    assert.deepEqual([foreign.status, none.status], [404, 404], rest)
    assert.deepEqual(foreign.body, none.body)
  }
  for (const [rest, fields] of [
    ['', { do: 'test', eventType: 'score.updated' }],
    ['', { do: 'pause' }],
    ['', { do: 'resume' }],
    ['', { do: 'enable' }],
    ['', { do: 'activate' }],
    ['/disable', { do: 'disable', confirm: 'mine.example.com' }],
    ['/rotate', { do: 'rotate' }],
    ['/replace-secret', { do: 'replace', confirm: 'mine.example.com', secretPrefix: '' }],
    [`/events/${event}`, { do: 'resend' }],
  ] as const) {
    const post = (endpoint: string) =>
      send(stranger, `/dashboard/webhooks/${endpoint}${rest}`, fields)
    const [foreign, none] = [await post(id), await post(unknown)]
    assert.deepEqual([foreign.status, none.status], [404, 404], `${rest} ${fields.do}`)
    assert.deepEqual(foreign.body, none.body)
  }
})

test('of two tabs that replace a secret, the second is told that the first has done it', async () => {
  const { db } = service.database
  const owner = await newSession(db, { publicUrl })
  const userId = owner.accountId
  const { id, secret } = await createEndpoint(db, 'https://tabs.example.com/', { userId })
  const fields = { do: 'replace', confirm: 'tabs.example.com', secretPrefix: secret.slice(0, 18) }
  const path = `/dashboard/webhooks/${id}/replace-secret`
  const replies = await Promise.all([send(owner, path, fields), send(owner, path, fields)])
  const statuses = replies.map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([200, 409]))
  const wrong = await send(owner, path, { ...fields, confirm: 'another.example.com' })
  assert.equal(wrong.status, 400)
})

test('a resend is sent once more, and the page of the event shows every attempt', {
  skip: noBrowser,
}, async () => {
  const { owner, good, delivering } = await busyAccount()
  const { db } = service.database
  const of = { endpointId: good.id, owner: { userId: owner.accountId }, limit: 1 }
  const [attempt] = (await findAttempts(db, of)) ?? []
  const { page, faults } = await visit(
    `/dashboard/webhooks/${good.id}/events/${attempt?.eventId}`,
    {
      of: owner,
      javaScriptEnabled: false,
    },
  )
  await page.getByRole('button', { name: 'Resend now' }).click()
  await page.getByText('The event is on its way.').waitFor()
  delivering.moveTo(new Date())
  await delivering.deliver()
  await page.reload()
  await page.getByText('The event was sent.').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 2)
  assert.deepEqual(faults, [])
  await page.context().close()
})
