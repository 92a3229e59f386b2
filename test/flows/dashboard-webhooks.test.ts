/** Webhook endpoints in the dashboard. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { findAttempts } from '../../src/webhooks/delivery/delivery-store.ts'
import { findAttemptsAt } from '../../src/webhooks/delivery/history-store.ts'
import { createEndpoint, happen, receiver, startDelivering } from '../support/build/webhooks.ts'
import { ask } from '../support/start/ask.ts'
import { follow, inspectUrl, noBrowser } from '../support/start/browser.ts'
import { type Dashboard, markup, startDashboard } from '../support/start/dashboard.ts'
import type { TestService } from '../support/start/service.ts'

let dashboard: Dashboard
let service: TestService

before(async () => {
  dashboard = await startDashboard()
  service = dashboard.service
})
after(() => service.stop())

/** An account with one endpoint that takes everything and one that fails. */
async function busyAccount() {
  const { db } = service.database
  const owner = await dashboard.newUser()
  const server = await receiver((response, { path }) =>
    path.endsWith('/broken')
      ? response
          .writeHead(503, {
            'X-Request-Id': 'theirs',
            Server: markup.replaceAll(/[^\x20-\x7e]/g, ''),
            'Set-Cookie': 'secret-cookie=1',
          })
          .end(markup)
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
  const context = await dashboard.signedIn(owner)
  const endpoint = `/dashboard/webhooks/${broken.id}`
  for (const [name, path] of Object.entries({
    home: '/dashboard',
    webhooks: '/dashboard/webhooks',
    'endpoint good': `/dashboard/webhooks/${good.id}`,
    'endpoint failing': endpoint,
    'endpoint filtered': `${endpoint}?state=delivered&answer=5xx&time=1h`,
    health: `${endpoint}/health`,
    configuration: `${endpoint}/configuration`,
    resend: `${endpoint}/resend`,
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

test('a failed event says what to do, and its id alone leads its account to it', async () => {
  const { owner, broken, failed } = await busyAccount()
  const stranger = await dashboard.newUser()
  const read = (path: string, of = owner) => ask(service.base, { path, headers: of.headers })
  const page = `/dashboard/webhooks/${broken.id}/events/${failed.eventId}`
  assert.match(
    String((await read(page)).body),
    /Your server says that it is overloaded or stopped\./,
  )
  const jump = await read(`/dashboard/events/${failed.eventId}`)
  assert.equal(jump.status, 303)
  assert.match(String(jump.headers.location), new RegExp(`/events/${failed.eventId}$`))
  const unknown = `/dashboard/events/evt_${'0'.repeat(32)}`
  for (const [path, of] of [
    [unknown, owner],
    [`/dashboard/events/${failed.eventId}`, stranger],
  ] as const)
    assert.equal((await read(path, of)).status, 404)
})

test('the home page names a failing endpoint; while it is paused nothing announces a next attempt', async () => {
  const { owner, broken } = await busyAccount()
  const read = async (path: string): Promise<string> => {
    const { body } = await ask(service.base, { path, headers: owner.headers })
    return String(body).replaceAll('<wbr>', '')
  }
  const path = `/dashboard/webhooks/${broken.id}`
  assert.match(
    await read('/dashboard'),
    /The webhook endpoint hooks\.example\S*\/broken is failing\./,
  )
  assert.match(await read(path), /The next attempt is <time/)
  assert.match(await read(`${path}/health`), /Next <time/)
  assert.equal((await dashboard.send(owner, path, { do: 'pause' })).status, 303)
  const page = (await read(path)) + (await read(`${path}/health`))
  assert.match(page, /Nothing is sent while paused/)
  assert.doesNotMatch(page, /Next <time|Next attempt|The next attempt is/)
  const deliveries = await read(`/api/account/webhooks/endpoints/${broken.id}/deliveries`)
  for (const { nextAttemptAt } of JSON.parse(deliveries).deliveries)
    assert.equal(nextAttemptAt, null)
})

for (const javaScriptEnabled of [true, false])
  test(`a member adds an endpoint, tests it, rotates, replaces and disables it, ${javaScriptEnabled ? 'with' : 'without'} scripts`, {
    skip: noBrowser,
  }, async () => {
    const owner = await dashboard.newUser()
    const { page, faults } = await dashboard.visit('/dashboard/webhooks', {
      of: owner,
      javaScriptEnabled,
    })
    await page.getByRole('link', { name: 'Add endpoint' }).click()
    await page.getByLabel('URL').fill('http://hooks.example.com/')
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByText('The endpoint was not added.').waitFor()
    const fault = '“http://hooks.example.com/” must start with https://.'
    assert.equal(await page.locator('.field .error').textContent(), fault)
    assert.equal(await page.locator('.form-errors a').textContent(), fault)
    assert.equal(faults.splice(0).length, 1, 'the browser notes the status 400')
    assert.equal(await page.getByLabel('URL').inputValue(), 'http://hooks.example.com/')
    await page.getByLabel('URL').fill('https://hooks.example.com/assay')
    await page.getByLabel('Description').fill('Payroll')
    await follow(page, page.getByRole('button', { name: 'Add endpoint' }))
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

    await page.getByRole('link', { name: 'Configuration and secret' }).click()
    await page.getByRole('link', { name: 'Rotate secret', exact: true }).last().click()
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    const announced = await page.locator('#secret').textContent()
    assert.notEqual(announced, secret)
    await page.goto(`${endpointUrl}/configuration`)
    await page.getByRole('button', { name: 'Activate it now' }).click()
    await page.getByText('The new secret signs now.').waitFor()
    await page.getByRole('link', { name: 'Configuration and secret' }).click()
    await page.getByText((announced ?? '').slice(0, 18)).waitFor()

    await follow(page, page.getByRole('link', { name: 'Replace a leaked secret' }).last())
    const replace = page.getByRole('button', { name: 'Replace secret' })
    assert.equal(await replace.isDisabled(), javaScriptEnabled)
    await page.getByLabel(/to confirm/).fill('hooks.example.com')
    await replace.click()
    const replaced = await page.locator('#secret').textContent()
    await page.goto(`${endpointUrl}/configuration`)
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
  const owner = await dashboard.newUser()
  const fields = {
    do: 'create',
    key: 'one-form-sent-twice',
    url: 'https://twice.example.com/',
    description: '',
    'events:score.updated': 'on',
  }
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => dashboard.send(owner, '/dashboard/webhooks/new', fields)),
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
  const owner = await dashboard.newUser()
  const stranger = await dashboard.newUser()
  const { id } = await createEndpoint(db, 'https://mine.example.com/', { userId: owner.accountId })
  const unknown = '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f'
  const event = 'evt_019e25b6d9d870008000000000000001'
  for (const rest of [
    '',
    '/health',
    '/configuration',
    '/resend',
    '/disable',
    '/rotate',
    '/replace-secret',
    `/events/${event}`,
  ]) {
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
    ['', { do: 'resend', all: 'true' }],
    ['', { do: 'resend', [`event:${event}`]: 'on' }],
    ['', { do: 'dns' }],
    ['/disable', { do: 'disable', confirm: 'mine.example.com' }],
    ['/rotate', { do: 'rotate' }],
    ['/replace-secret', { do: 'replace', confirm: 'mine.example.com', secretPrefix: '' }],
    [`/events/${event}`, { do: 'resend' }],
  ] as const) {
    const post = (endpoint: string) =>
      dashboard.send(stranger, `/dashboard/webhooks/${endpoint}${rest}`, fields)
    const [foreign, none] = [await post(id), await post(unknown)]
    assert.deepEqual([foreign.status, none.status], [404, 404], `${rest} ${fields.do}`)
    assert.deepEqual(foreign.body, none.body)
  }
})

test('two tabs replace a secret: the second is told that the first has done it', async () => {
  const { db } = service.database
  const owner = await dashboard.newUser()
  const userId = owner.accountId
  const { id, secret } = await createEndpoint(db, 'https://tabs.example.com/', { userId })
  const fields = { do: 'replace', confirm: 'tabs.example.com', secretPrefix: secret.slice(0, 18) }
  const path = `/dashboard/webhooks/${id}/replace-secret`
  const replies = await Promise.all([
    dashboard.send(owner, path, fields),
    dashboard.send(owner, path, fields),
  ])
  const statuses = replies.map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([200, 409]))
  const wrong = await dashboard.send(owner, path, { ...fields, confirm: 'another.example.com' })
  assert.equal(wrong.status, 400)
})

test('a resend is sent once more, and the page of the event shows every attempt', {
  skip: noBrowser,
}, async () => {
  const { owner, good, delivering } = await busyAccount()
  const { db } = service.database
  const of = { endpointId: good.id, owner: { userId: owner.accountId }, limit: 1 }
  const [attempt] = (await findAttempts(db, of)) ?? []
  const { page, faults } = await dashboard.visit(
    `/dashboard/webhooks/${good.id}/events/${attempt?.eventId}`,
    {
      of: owner,
      javaScriptEnabled: false,
    },
  )
  const key = await page.locator('input[name="key"]').inputValue()
  await page.getByRole('button', { name: 'Resend now' }).click()
  await page.getByText('The event is on its way.').waitFor()
  const path = new URL(page.url()).pathname
  const again = await dashboard.send(owner, path, { do: 'resend', key })
  assert.equal(again.headers.location, `${path}?done=queued`, 'a form that is sent twice')
  delivering.moveTo(new Date())
  await delivering.deliver()
  await page.reload()
  await page.getByText('Your server took the event.').waitFor()
  assert.equal(await page.locator('.timeline > li').count(), 2)
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('the page of an event that was cancelled before its first attempt does not say that it is sent', async () => {
  const { owner, good } = await busyAccount()
  const path = `/dashboard/webhooks/${good.id}`
  const reply = await dashboard.send(owner, path, { do: 'test', eventType: 'score.updated' })
  await service.database.db.run(sql`
    update webhook_deliveries set status = 'cancelled', finished_at = now()
    where endpoint_id = ${good.id}::uuid and trigger = 'test'`)
  const eventPage = { path: String(reply.headers.location), headers: owner.headers }
  const body = String((await ask(service.base, eventPage)).body)
  assert.match(body, /<h3>Not sent<\/h3><p[^>]*>It was cancelled before its first attempt/)
  assert.doesNotMatch(body, /under way|on its way/)
})

test('the page of an event that no process sends stops reloading after a minute, and says that the event waits', async () => {
  const { owner, good } = await busyAccount()
  const path = `/dashboard/webhooks/${good.id}`
  const reply = await dashboard.send(owner, path, { do: 'test', eventType: 'score.updated' })
  const eventPage = { path: String(reply.headers.location), headers: owner.headers }
  assert.match(String((await ask(service.base, eventPage)).body), /data-reload/)
  await service.database.db.run(sql`
    update webhook_deliveries set due_at = due_at - interval '2 minutes'
    where endpoint_id = ${good.id}::uuid and trigger = 'test'`)
  const body = String((await ask(service.base, eventPage)).body)
  assert.match(body, /The event still waits\..*It was due .*2 min ago/)
  assert.doesNotMatch(body, /data-reload|any moment|on its way/)
  // A lease leaves `due_at` as it is.
  await service.database.db.run(sql`
    update webhook_deliveries
    set status = 'sending', lease_id = gen_random_uuid(), lease_until = now() + interval '1 minute'
    where endpoint_id = ${good.id}::uuid and trigger = 'test'`)
  const sending = String((await ask(service.base, eventPage)).body)
  assert.match(sending, /data-reload.*on its way.*The first attempt is under way/s)
})

test('a member chooses events that failed and sends them again, or all of them, with a key once', {
  skip: noBrowser,
}, async () => {
  const { owner, broken, failed } = await busyAccount()
  const { db } = service.database
  const path = `/dashboard/webhooks/${broken.id}`
  const { page, faults } = await dashboard.visit(path, { of: owner, javaScriptEnabled: false })
  const row = page.locator('tbody tr:has(input)').first()
  await row.locator('summary').click()
  await page.getByText('Attempt 1: 503').first().waitFor()
  await follow(page, page.getByRole('button', { name: 'Resend chosen events' }))
  await page.getByText('Choose at least one event.').waitFor()
  for (const box of (await page.getByRole('checkbox').all()).slice(0, 2)) await box.check()
  await page.getByRole('button', { name: 'Resend chosen events' }).click()
  await page.getByText('2 events are sent once more.').waitFor()
  await page.goto(`${service.base}${path}/resend`)
  await page.getByText('Resend 3 events?').waitFor()
  await page.getByRole('button', { name: 'Resend events' }).click()
  await page.getByText('Events of the last bulk resend are still waiting.').waitFor()
  await db.run(sql`
    update webhook_deliveries set status = 'cancelled', finished_at = now()
    where endpoint_id = ${broken.id}::uuid and trigger = 'manual'`)
  const key = '4e0e4ac0-7e77-4d1c-9b0e-0f6a1e8f8a01'
  const all = { do: 'resend', [`event:${failed.eventId}`]: 'on', key }
  for (let n = 0; n < 2; n++)
    assert.equal(
      (await dashboard.send(owner, path, all)).headers.location,
      `${path}?done=resent&count=1`,
    )
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('an attempt shows what was sent and received: no cookie, and no signature before five minutes', async () => {
  const { db } = service.database
  const { owner, broken, failed } = await busyAccount()
  const of = { endpointId: broken.id, userId: owner.accountId, eventId: failed.eventId }
  const [attempt] = await findAttemptsAt(db, { ...of, limit: 1 })
  const signature =
    attempt?.signatures?.['Service-Webhook-Signature'] ?? assert.fail('no signature')
  const path = `/dashboard/webhooks/${broken.id}/events/${failed.eventId}`
  const read = async () => String((await ask(service.base, { path, headers: owner.headers })).body)
  const early = await read()
  assert.match(early, /<dt>service-webhook-attempt<\/dt><dd>1<\/dd>/)
  assert.match(early, /<dt>x-request-id<\/dt><dd>theirs<\/dd>/)
  assert.doesNotMatch(early, /secret-cookie/)
  assert.ok(!early.includes(signature))
  await db.run(sql`
    update webhook_attempts set sent_at = sent_at - interval '5 minutes'
    where id = ${attempt?.id}::uuid`)
  assert.ok((await read()).includes(signature))
})

test('the DNS is asked again once a minute, and a name without an address says what to do', async () => {
  const { db } = service.database
  const owner = await dashboard.newUser()
  const { id } = await createEndpoint(db, 'https://127.0.0.1/', { userId: owner.accountId })
  const path = `/dashboard/webhooks/${id}`
  const [first, second] = [
    await dashboard.send(owner, path, { do: 'dns' }),
    await dashboard.send(owner, path, { do: 'dns' }),
  ]
  assert.equal(first.status, 200)
  assert.match(String(first.body), /leads to an address that this service does not call/)
  assert.equal(second.headers.location, `${path}?done=dns_asked`)
})
