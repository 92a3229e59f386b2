/** The pages of the request log in Chromium, and its stream of new calls. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { sql } from '../../src/platform/db/db.ts'
import { liveCalls } from '../../src/web/dashboard/live-calls.ts'
import { newKey, type TestKey } from '../support/build/keys.ts'
import type { TestSession } from '../support/build/sessions.ts'
import { ask, type Question } from '../support/start/ask.ts'
import { inspectPage, noBrowser } from '../support/start/browser.ts'
import { type Dashboard, startDashboard } from '../support/start/dashboard.ts'
import { eventually } from '../support/start/processes.ts'
import { startService, type TestService } from '../support/start/service.ts'

let dashboard: Dashboard
let service: TestService
let session: TestSession
let key: TestKey

before(async () => {
  dashboard = await startDashboard({
    METERING: 'on',
    KEY_NOT_FOUND_PER_MINUTE: '5',
    WEBHOOK_ENDPOINTS_MAX: '1',
  })
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
  await page.locator(link).first().waitFor()
  assert.ok((await rows.count()) > before)
  await inspectPage(page, 'requests')
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Live', { exact: true }).waitFor({ state: 'hidden' })
  const paused = await call()
  await isLogged(paused.requestId)
  assert.equal(await page.locator(paused.link).count(), 0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator(paused.link).first().waitFor()
  const row = rows.filter({ has: page.locator(link) }).first()
  await row.getByText('400').click()
  await page
    .getByText('Correct the parameter that the message names')
    .filter({ visible: true })
    .first()
    .waitFor()
  await inspectPage(page, 'requests opened')
  await page.locator(link).first().click()
  await page.getByRole('heading', { name: 'One public score' }).waitFor()
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
  const countOptions = (id: string) => page.locator(`#operations option[value=${id}]`).count()
  assert.deepEqual([await countOptions('getScore'), await countOptions('getScoreBands')], [1, 0])
  await page.getByLabel('Status').selectOption('5xx')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('No call fits these filters').waitFor()
  await page.getByRole('link', { name: 'Clear filters' }).first().click()
  await page.getByLabel('Status').selectOption('4xx')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('link', { name: '/api/v1/scores/{scoreId}' }).first().waitFor()
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

test('a developer finds the cause of a 400, 401, 402, 403, 404, 409 and 429 within one click of the request id', async () => {
  const { db } = service.database
  const own = await dashboard.newUser()
  const of = { accountId: own.accountId }
  const rich = await newKey(db, { ...of, name: 'search-app', credits: 2 })
  const bare = await newKey(db, { ...of, name: 'payroll-sync', scopes: ['candidates:read'] })
  const ended = await newKey(db, { ...of, name: 'old', expiresAt: new Date(Date.now() + 500) })
  const call = async (question: Question) => {
    const reply = await ask(service.base, question)
    return { ...reply, id: String(reply.headers['x-request-id']) }
  }
  const get = (path: string, headers: Record<string, string>) => call({ path, headers })
  const addEndpoint = (host: string, key: string) =>
    call({
      method: 'POST',
      path: '/api/v1/webhooks/endpoints',
      headers: { ...rich.headers, 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify({ url: `https://${host}/`, events: ['score.updated'] }),
    })
  const candidates = '/api/v1/candidates'
  const bad = await get(`${candidates}/search?q=xx&limit=0`, rich.headers)
  const since = await get('/api/v1/webhooks/events?since=yesterday', rich.headers)
  const scope = await get('/api/v1/webhooks/endpoints', bare.headers)
  const missing = await get(`${candidates}/nobody-here`, rich.headers)
  const limited = await eventually('the not-found limit is full', {
    see: async () => {
      const reply = await get(`${candidates}/nobody-here`, bare.headers)
      return reply.status === 429 ? reply : null
    },
  })
  await get(`${candidates}/search?q=ada`, rich.headers)
  await get(`${candidates}/search?q=bob`, rich.headers)
  const poor = await get(`${candidates}/search?q=cat`, rich.headers)
  const { value: late } = await eventually('the key has expired', {
    see: async () => {
      const reply = await get(`${candidates}/search?q=ada`, ended.headers)
      return reply.status === 401 ? reply : null
    },
  })
  await addEndpoint('hooks.example.com', 'the-first-endpoint')
  const reused = await addEndpoint('other.example.com', 'the-first-endpoint')
  const full = await addEndpoint('other.example.com', 'the-second-endpoint')
  assert.equal(
    scope.headers['www-authenticate'],
    'Bearer error="insufficient_scope", scope="webhooks:write"',
  )
  assert.match(String(scope.body), /lacks the scope webhooks:write. It has candidates:read\./)
  const expected = [
    [bad, 400, /Parameter limit in the query: /],
    [since, 400, /Parameter since in the query: Without after: a time in UTC/],
    [late, 401, /Key ended \d+ \w+ 20\d\d/],
    [poor, 402, /Costs 1 credit, the balance was 0/],
    [scope, 403, /Needs webhooks:write; payroll-sync has candidates:read/],
    [missing, 404, /No public candidate has this handle\. 1 of 5 not-found answers/],
    [reused, 409, /The Idempotency-Key made a webhook endpoint before, with other content/],
    [full, 409, /The account has 1 active endpoints, of 1 that it may have/],
    [limited.value, 429, /Limit of not-found answers: 5 a minute\. Free again \d+ s after/],
  ] as const
  for (const [reply, wanted, line] of expected) {
    assert.ok(reply !== null)
    const { status, id } = reply
    assert.equal(status, wanted)
    const path = `/dashboard/requests/${id}`
    const { value } = await eventually(`the call ${wanted} is logged`, {
      see: async () => {
        const reply = await ask(service.base, { path, headers: own.headers })
        return reply.status === 200 ? String(reply.body) : null
      },
    })
    assert.match(value ?? '', line)
    assert.match(value ?? '', /What <code>.*<\/code> means/)
    const found = await ask(service.base, {
      path: `/dashboard/requests?id=${encodeURIComponent(` ${id} `)}`,
      headers: own.headers,
    })
    assert.deepEqual([found.status, found.headers.location], [303, path])
  }
  const list = String(
    (await ask(service.base, { path: '/dashboard/requests', headers: own.headers })).body,
  )
  const csv = await ask(service.base, {
    path: '/dashboard/requests.csv?range=15m',
    headers: own.headers,
  })
  assert.match(String(csv.headers['content-type']), /^text\/csv/)
  for (const [, , line] of expected) {
    assert.match(list, line)
    assert.match(String(csv.body), line)
  }
  assert.match(list, /aria-label="Calls over time: \d+ answered, \d+ refused, 0 failed\."/)
  const filtered = await ask(service.base, {
    path: '/dashboard/requests?error=rate_limited',
    headers: own.headers,
  })
  assert.match(String(filtered.body), /No chart: the counts of each minute do not know the key/)
})

test('the chart counts each call once, in the minute and class of its answer', async () => {
  const { db } = service.database
  const rows = await db.rows<{ calls: number; logged: number }>(sql`
    select (select sum(calls)::int from request_counts) as calls,
      (select count(*)::int from request_log) as logged`)
  assert.equal(rows[0]?.calls, rows[0]?.logged)
})

test('the chart of an account with a million calls in a week has 168 bars at most, each a link to its calls', async () => {
  const { db } = service.database
  const { accountId, headers } = await dashboard.newUser()
  await db.run(sql`
    insert into request_counts (account_id, minute, class, calls, first_seq, last_seq)
    select ${accountId}::uuid, date_trunc('minute', now()) - n * interval '1 minute', class, 100, 0, 0
    from generate_series(0, 3333) n, unnest(array[2, 4, 5]) class`)
  const read = async (query: string) => {
    const path = `/dashboard/requests?${query}`
    const { status, body } = await ask(service.base, { path, headers })
    assert.equal(status, 200, path)
    return String(body)
  }
  const week = await read('range=7d')
  assert.match(
    week,
    /aria-label="Calls over time: 333,400 answered, 333,400 refused, 333,400 failed/,
  )
  const shown = week.match(/<a href="\/dashboard\/requests\?range=between[^"]*"/g) ?? []
  assert.ok(shown.length > 50 && shown.length <= 168, `${shown.length} bars`)
  const from = new Date(Date.now() - 200_000_000).toISOString().slice(0, 16)
  const wide = await read(`range=between&from=${from}`)
  assert.ok((wide.match(/range=between&amp;from=/g) ?? []).length <= 168)
  const to = new Date(Date.now() - 100_000_000).toISOString().slice(0, 16)
  const sums = (page: string) => /aria-label="Calls over time: ([^"]*)/.exec(page)?.[1]
  const ordered = sums(await read(`range=between&from=${from}&to=${to}`))
  assert.match(ordered ?? '', /^[1-9]/)
  assert.equal(sums(await read(`range=between&from=${to}&to=${from}`)), ordered)
  for (const hostile of ['from=2026-13-99T99:99', 'from=9999-12-31T23:59', 'from=1000-01-01T00:00'])
    await read(`range=between&${hostile}`)
})

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
    method: 'POST',
    path: '/dashboard/sessions',
    headers: { ...leaving.ownOrigin, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `do=end&session=${leaving.sessionId}`,
  })
  assert.equal(status, 303)
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

interface Stream {
  socket: Socket
  head: string
  /** What has arrived. */
  text: () => string
}

/** Opens a stream and returns its connection with the head of the answer. */
function openedStream(base: string, of: TestSession): Promise<Stream> {
  const { socket, text } = openStream(base, of)
  return new Promise((resolve) =>
    socket.once('data', (head) => resolve({ socket, text, head: String(head) })),
  )
}

const isServed = ({ head }: { head: string }) => head.startsWith('HTTP/1.1 200 OK\r\n')

test('429: of twenty streams at once a session gets two and its account four, and each place is free again at its end', async () => {
  const first = await dashboard.newUser()
  const colleagues = await Promise.all(
    [1, 2].map(() => dashboard.newUser({ accountId: first.accountId })),
  )
  const all = await Promise.all(Array.from({ length: 20 }, () => openedStream(service.base, first)))
  const [served, refused] = [all.filter(isServed), all.filter((one) => !isServed(one))]
  assert.equal(served.length, 2)
  for (const { head } of refused) {
    assert.match(head, /^HTTP\/1\.1 429 /)
    assert.match(head, /\r\nretry-after: 15\r\n/i)
    assert.match(head, /This session has 2 live streams open already\. Close one\./)
  }
  const others = await Promise.all(
    colleagues.flatMap((of) => [openedStream(service.base, of), openedStream(service.base, of)]),
  )
  assert.equal(others.filter(isServed).length, 2)
  const fifth = others.find((one) => !isServed(one))
  assert.match(fifth?.head ?? '', /This account has 4 live streams open already\. Close one\./)
  for (const { socket } of [...all, ...others]) socket.destroy()
  await eventually('a place is free', {
    see: async () => {
      const again = await openedStream(service.base, first)
      again.socket.destroy()
      return isServed(again)
    },
  })
})

test('a page says that live is off while its account has four streams, and is live once one ends', {
  skip: noBrowser,
}, async () => {
  const user = await dashboard.newUser()
  const colleague = await dashboard.newUser({ accountId: user.accountId })
  const own = await newKey(service.database.db, { accountId: user.accountId })
  const { headers } = await ask(service.base, {
    path: '/api/v1/scores/nothing',
    headers: own.headers,
  })
  await eventually('the call is logged', {
    see: async () => {
      const path = `/dashboard/requests/${String(headers['x-request-id'])}`
      return (await ask(service.base, { path, headers: user.headers })).status === 200
    },
  })
  const third = await dashboard.newUser({ accountId: user.accountId })
  const held = await Promise.all(
    [colleague, colleague, third, third].map((of) => openedStream(service.base, of)),
  )
  assert.ok(held.every(isServed))
  const { page, faults } = await dashboard.visit('/dashboard/requests', { of: user })
  await page.getByText(/^Live is off: 4 pages of this account/).waitFor()
  await page.setViewportSize({ width: 320, height: 700 })
  const widths = '[document.documentElement.scrollWidth, document.documentElement.clientWidth]'
  assert.deepEqual(await page.evaluate(widths), [320, 320], 'nothing scrolls sideways')
  for (const { socket } of held) socket.destroy()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Live', { exact: true }).waitFor()
  assert.equal(await page.getByText(/^Live is off/).isVisible(), false)
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('429')),
    [],
  )
  await page.context().close()
})

test('two hundred streams of 50 accounts are served beside calls, and the end of the service ends all', async () => {
  const beside = await startDashboard()
  const { base } = beside.service
  const sessions = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const owner = await beside.newUser()
      return [owner, await beside.newUser({ accountId: owner.accountId })]
    }),
  )
  const streams = await Promise.all(
    sessions.flat().flatMap((of) => [openedStream(base, of), openedStream(base, of)]),
  )
  assert.ok(streams.every(isServed))
  const [{ headers, accountId }] = sessions[0] as [TestSession]
  assert.equal((await ask(base, { path: '/dashboard', headers })).status, 200)
  const caller = await newKey(beside.service.database.db, { accountId })
  const { headers: answered } = await ask(base, {
    path: '/api/v1/scores/nothing',
    headers: caller.headers,
  })
  const id = String(answered['x-request-id'])
  await eventually('the call is in the four streams of its account, and in no other', {
    see: () => {
      const holds = streams.filter(({ text }) => text().includes(id))
      return Promise.resolve(holds.length === 4)
    },
  })
  const closed = streams.map(
    ({ socket }) => new Promise((resolve) => socket.once('close', resolve)),
  )
  await beside.service.stop()
  await Promise.race([Promise.all(closed), pause(5_000, 'late')]).then((result) =>
    assert.notEqual(result, 'late'),
  )
})

test('one look serves all streams of a process: two statements, and each reader gets the calls of its account', async () => {
  const { db } = service.database
  const owners = await Promise.all(Array.from({ length: 5 }, () => dashboard.newUser()))
  let sessionLookUps = 0
  let callLookUps = 0
  const { follow } = liveCalls({
    callsDb: {
      ...db,
      rows: (statement) => {
        callLookUps++
        return db.rows(statement)
      },
    },
    validSessions: (asked) => {
      sessionLookUps++
      return Promise.resolve(new Set(asked.map(({ sessionId }) => sessionId)))
    },
  })
  for (const { accountId } of owners)
    await db.run(sql`
      insert into request_log (at, request_id, account_id, operation, status, credits, duration_us, network)
      values (now(), ${accountId.slice(0, 16)}, ${accountId}, 'getScore', 200, 1, 1000, '192.0.2.0/24')`)
  const gone = new AbortController()
  const received: string[] = []
  const { promise: all, resolve } = Promise.withResolvers<void>()
  const following = owners.flatMap((session) =>
    Array.from({ length: 20 }, () =>
      follow({
        session: {
          kind: 'session',
          role: 'owner',
          operatorRole: null,
          signedInAt: new Date(),
          ...session,
        },
        after: 0,
        ended: gone.signal,
        send(calls) {
          assert.deepEqual(
            calls.map(({ requestId }) => requestId),
            [session.accountId.slice(0, 16)],
          )
          if (received.push(session.accountId) === 100) resolve()
        },
      }),
    ),
  )
  await Promise.race([all, Promise.all(following)])
  // The first reader is alone in the first look.
  assert.deepEqual([sessionLookUps, callLookUps], [2, 2])
  gone.abort()
  await Promise.all(following)
  assert.equal(received.length, 100)
})
