/** The pages of the request log in Chromium, and its stream of new calls. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { newKey, type TestKey } from '../support/build/keys.ts'
import type { TestSession } from '../support/build/sessions.ts'
import { ask } from '../support/start/ask.ts'
import { inspectPage, noBrowser } from '../support/start/browser.ts'
import { type Dashboard, startDashboard } from '../support/start/dashboard.ts'
import { eventually } from '../support/start/processes.ts'
import { startService, type TestService } from '../support/start/service.ts'

let dashboard: Dashboard
let service: TestService
let session: TestSession
let key: TestKey

before(async () => {
  dashboard = await startDashboard({ METERING: 'on' })
  service = dashboard.service
  session = await dashboard.newUser()
  key = await newKey(service.database.db, { accountId: session.accountId, credits: 100 })
})
after(() => service.stop())

const search = (q: string) =>
  ask(service.base, { path: `/api/v1/candidates/search?q=${q}`, headers: key.headers })

/** Makes a call that is refused. */
async function call(): Promise<{ requestId: string; link: string }> {
  const { headers } = await ask(service.base, {
    path: '/api/v1/scores/nothing',
    headers: key.headers,
  })
  const requestId = String(headers['x-request-id'])
  return { requestId, link: `a[href="/dashboard/requests/${requestId}"]` }
}

const isLogged = (requestId: string) =>
  eventually(`the call ${requestId} is logged`, {
    see: async () => {
      const path = `/dashboard/requests/${requestId}`
      return (await ask(service.base, { path, headers: session.headers })).status === 200
    },
  })

test('a call appears on the open page by itself, unless it is paused, and its own page tells the outcome', {
  skip: noBrowser,
}, async () => {
  const { requestId: first } = await call()
  await isLogged(first)
  const { page, faults } = await dashboard.visit('/dashboard/requests', { of: session })
  await page.getByText('Live', { exact: true }).waitFor()
  const rows = page.locator('tbody tr')
  const before = await rows.count()
  const { link } = await call()
  await page.locator(link).waitFor()
  assert.ok((await rows.count()) > before)
  await inspectPage(page, 'requests')
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Live', { exact: true }).waitFor({ state: 'hidden' })
  const paused = await call()
  await isLogged(paused.requestId)
  assert.equal(await page.locator(paused.link).count(), 0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator(paused.link).waitFor()
  await page.locator(link).click()
  await page.getByRole('heading', { name: 'getScore' }).waitFor()
  await page.getByText('invalid_parameter').first().waitFor()
  await inspectPage(page, 'request')
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('the filters work without scripts, and a filter that fits nothing says what to do', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await dashboard.visit('/dashboard/requests', {
    of: session,
    javaScriptEnabled: false,
  })
  await page.getByLabel('Status').selectOption('5xx')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('No call fits these filters').waitFor()
  await page.getByRole('link', { name: 'Clear filters' }).first().click()
  await page.getByLabel('Status').selectOption('4xx')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('link', { name: 'getScore' }).first().waitFor()
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('404: the call of another account has no page', async () => {
  const stranger = await dashboard.newUser()
  const { headers } = await search('mine')
  const path = `/dashboard/requests/${String(headers['x-request-id'])}`
  const statusOf = async (of: TestSession) =>
    (await ask(service.base, { path, headers: of.headers })).status
  await eventually('the call is logged', { see: async () => (await statusOf(session)) === 200 })
  assert.equal(await statusOf(stranger), 404)
})

/** Opens a stream by hand. `text` holds what has arrived. */
function openStream(base: string, of: TestSession): { socket: Socket; text: () => string } {
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const { Cookie } = of.headers
  socket.write(
    `GET /dashboard/requests/live?after=0 HTTP/1.1\r\nHost: ${hostname}\r\nCookie: ${Cookie}\r\n\r\n`,
  )
  return { socket, text: () => text }
}

test('the streams of a session end with it on every node', async () => {
  const other = await startService(service.publicUrl, service)
  const leaving = await dashboard.newUser({ accountId: session.accountId })
  const streams = [service, other].map(({ base }) => openStream(base, leaving))
  for (const { text } of streams) {
    await eventually('calls arrive', { see: () => Promise.resolve(text().includes('data: ')) })
    assert.match(text(), /^HTTP\/1\.1 200 OK\r\n/)
    assert.match(text(), /content-type: text\/event-stream/i)
  }
  const { status } = await ask(other.base, {
    method: 'DELETE',
    path: `/api/account/sessions/${leaving.sessionId}`,
    headers: leaving.ownOrigin,
  })
  assert.equal(status, 200)
  for (const { socket, text } of streams) {
    // The last chunk of a chunked body is empty.
    await eventually('the stream ends', {
      see: () => Promise.resolve(text().endsWith('0\r\n\r\n')),
    })
    socket.destroy()
  }
  await other.stop()
})

test('the tabs of a browser share one stream, which a hidden tab leaves to the next', {
  skip: noBrowser,
}, async () => {
  const context = await dashboard.signedIn(session)
  const tabs = await Promise.all([context.newPage(), context.newPage(), context.newPage()])
  const streams: number[] = []
  for (const [i, tab] of tabs.entries()) {
    tab.on('request', (request) => {
      if (request.url().includes('/requests/live')) streams.push(i)
    })
    await tab.goto(`${service.base}/dashboard/requests`)
    if (i === 0) await tab.getByText('Live', { exact: true }).waitFor()
  }
  const [first, second, third] = tabs
  const isLive = (tab: Page) => tab.getByText('Live', { exact: true }).isVisible()
  assert.deepEqual(await Promise.all(tabs.map(isLive)), [true, false, false])
  await first.evaluate(hide)
  await second.getByText('Live', { exact: true }).waitFor()
  assert.equal(await isLive(first), false)
  await second.close()
  await third.getByText('Live', { exact: true }).waitFor()
  assert.deepEqual(streams, [0, 1, 2])
  await context.close()
})

/** Hides the page for its scripts, as another tab in front of it does. */
const hide = `Object.defineProperty(document, 'hidden', { get: () => true })
  document.dispatchEvent(new Event('visibilitychange'))`

test('a hundred streams are served beside calls, and the end of the service ends all', async () => {
  const beside = await startDashboard()
  const other = await beside.newUser()
  const { hostname, port } = new URL(beside.service.base)
  const { Cookie } = other.headers
  const sockets = Array.from({ length: 100 }, () => connect(Number(port), hostname))
  const heads = await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<string>((resolve) => {
          socket.once('data', (chunk) => resolve(String(chunk)))
          socket.write(
            `GET /dashboard/requests/live?after=0 HTTP/1.1\r\nHost: ${hostname}\r\nCookie: ${Cookie}\r\n\r\n`,
          )
        }),
    ),
  )
  for (const head of heads) assert.match(head, /^HTTP\/1\.1 200 OK\r\n/)
  const { status } = await ask(beside.service.base, { path: '/dashboard', headers: other.headers })
  assert.equal(status, 200)
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  for (const socket of sockets) socket.resume()
  await beside.service.stop()
  await Promise.race([Promise.all(closed), pause(5_000, 'late')]).then((result) =>
    assert.notEqual(result, 'late'),
  )
})
