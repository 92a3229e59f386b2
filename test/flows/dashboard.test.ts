/** Every page of the dashboard for a new account, and the rules that all of them share. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { findKeys } from '../../src/accounts/access/store.ts'
import { insertMembership } from '../../src/accounts/store.ts'
import { newKey } from '../support/build/keys.ts'
import { lock } from '../support/build/reports.ts'
import type { TestSession } from '../support/build/sessions.ts'
import { ask } from '../support/start/ask.ts'
import { follow, inspectPage, inspectUrl, noBrowser } from '../support/start/browser.ts'
import {
  type Dashboard,
  dashboardPaths,
  markup,
  startDashboard,
} from '../support/start/dashboard.ts'
import type { TestService } from '../support/start/service.ts'

let dashboard: Dashboard
let service: TestService
let session: TestSession

before(async () => {
  dashboard = await startDashboard({ METERING: 'on' })
  service = dashboard.service
  session = await dashboard.newUser()
})
after(() => service.stop())

const pages = [
  ...dashboardPaths,
  '/dashboard/requests?range=between&from=2026-11-26T20%3A45&to=2026-11-26T20%3A46',
  '/dashboard/sandbox?call=verify',
  '/dashboard/sandbox?call=score',
  '/dashboard/sandbox?call=search&value=nothing+like+this',
]

test('every page of a new account: axe finds nothing, nothing scrolls sideways, the console is empty', {
  skip: noBrowser,
}, async () => {
  const context = await dashboard.signedIn(session)
  const member = await dashboard.newUser({ accountId: session.accountId, role: 'member' })
  const removal = `/dashboard/team?remove=${member.userId}`
  for (const path of [...pages, removal])
    await inspectUrl(context, service.base + path, `new ${path.slice(1)}`)
  const invited = { do: 'invite', email: 'invited@example.com', role: 'member' }
  assert.equal((await dashboard.send(session, '/dashboard/team', invited)).status, 200)
  await inspectUrl(context, `${service.base}/dashboard/team`, 'team with an invitation')
  const ofMember = await dashboard.signedIn(member)
  await inspectUrl(ofMember, `${service.base}/dashboard/leave`, 'leave')
  await ofMember.close()
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

test('a user signs another browser out, without scripts; the session of another user stays', {
  skip: noBrowser,
}, async () => {
  const owner = await dashboard.newUser()
  const stranger = await dashboard.newUser()
  const { page, faults } = await dashboard.visit('/dashboard/sessions', {
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

for (const javaScriptEnabled of [true, false])
  test(`an owner creates a key, rotates it and revokes it, ${javaScriptEnabled ? 'with' : 'without'} scripts`, {
    skip: noBrowser,
  }, async () => {
    const owner = await dashboard.newUser()
    const { page, faults } = await dashboard.visit('/dashboard/keys', {
      of: owner,
      javaScriptEnabled,
    })
    const statusOf = async (key: string | null) => {
      const headers = { Authorization: `Bearer ${key}` }
      const path = '/api/v1/candidates/search?q=python'
      return (await ask(service.base, { path, headers })).status
    }
    await page.getByRole('link', { name: 'Create key' }).click()
    await page.getByLabel('Networks').fill('localhost')
    await page.getByLabel('Name').fill(markup)
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('The key was not created.').waitFor()
    assert.equal(faults.splice(0).length, 1, 'the browser notes the status 400')
    assert.equal(await page.getByLabel('Name').inputValue(), markup)
    await page.getByLabel('Networks').fill('')
    await page.getByRole('button', { name: 'Create key' }).click()
    const key = await page.locator('#secret').textContent()
    assert.equal(await statusOf(key), 200)
    assert.match((await page.locator('#curl').textContent()) ?? '', new RegExp(`Bearer ${key}`))
    if (javaScriptEnabled) {
      await inspectPage(page, 'key once')
      await page.getByLabel('I have stored it').check()
    }
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: markup }).click()
    if (javaScriptEnabled) await inspectPage(page, 'key')
    await page.getByLabel('The old key stays valid for').selectOption('1 hour')
    await page.getByRole('button', { name: 'Rotate key' }).click()
    const second = await page.locator('#secret').textContent()
    assert.deepEqual([await statusOf(key), await statusOf(second)], [200, 200])
    await page.goto(`${service.base}/dashboard/keys`)
    if (javaScriptEnabled) await inspectPage(page, 'keys')
    await page.getByRole('link', { name: markup }).first().click()
    await page.getByLabel(/to confirm/).fill(markup)
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key is revoked.').waitFor()
    assert.deepEqual([await statusOf(key), await statusOf(second)], [200, 401])
    assert.deepEqual(faults, [])
    await page.context().close()
  })

test('without credits the home page says what is refused, and the usage page names each price', async () => {
  const owner = await dashboard.newUser()
  const { db } = service.database
  const read = async (path: string) =>
    String((await ask(service.base, { path, headers: owner.headers })).body)
  const warning = /0 credits left: paid calls are refused\./
  assert.doesNotMatch(await read('/dashboard'), warning, 'nothing is called yet')
  await newKey(db, { accountId: owner.accountId })
  assert.match(await read('/dashboard'), warning)
  assert.match(
    await read('/dashboard/usage'),
    /A public score or credential<\/dt><dd>1 credit a call/,
  )
  await newKey(db, { accountId: owner.accountId, credits: 5 })
  assert.doesNotMatch(await read('/dashboard'), warning)
})

test('400: a test key with a scope for webhooks is refused with the reason, and no key is made', async () => {
  const owner = await dashboard.newUser()
  const { status, body } = await dashboard.send(owner, '/dashboard/keys/new', {
    do: 'create',
    name: 'hooks',
    environment: 'test',
    'scopes:webhooks:write': 'on',
    key: randomUUID(),
  })
  assert.equal(status, 400)
  assert.match(String(body), /A test key cannot have webhooks:write, because the sandbox has no/)
  assert.deepEqual(await findKeys(service.database.db, owner.accountId), [])
})

test('a key form that is sent twice at once creates one key; the same value in another account creates another', async () => {
  const owner = await dashboard.newUser()
  const other = await dashboard.newUser()
  const fields = { do: 'create', name: 'twice', environment: 'test', key: randomUUID() }
  const send = (of: TestSession) =>
    dashboard.send(of, '/dashboard/keys/new', { ...fields, 'scopes:candidates:read': 'on' })
  const sent = await Promise.all([send(owner), send(owner), send(other)])
  assert.deepEqual(
    sent.map(({ status }) => status).sort((a, b) => a - b),
    [201, 201, 409],
  )
  const again = await send(owner)
  assert.equal(again.status, 409)
  assert.match(String(again.body), /This form was sent twice/)
  assert.doesNotMatch(String(again.body), /svc_test_/)
  const { db } = service.database
  assert.equal((await findKeys(db, owner.accountId)).length, 1)
})

test('403: a member who owns nothing sees the keys and changes none', async () => {
  const { db } = service.database
  const owner = await dashboard.newUser()
  const member = await dashboard.newUser({ accountId: owner.accountId, role: 'member' })
  const { keyId } = await newKey(db, { accountId: owner.accountId })
  const listed = await ask(service.base, { path: '/dashboard/keys', headers: member.headers })
  assert.equal(listed.status, 200)
  assert.ok(String(listed.body).includes(keyId))
  for (const [path, fields] of [
    ['/dashboard/keys/new', { do: 'create', name: 'x', environment: 'test' }],
    [`/dashboard/keys/${keyId}`, { do: 'rotate', overlapHours: '0' }],
    [`/dashboard/keys/${keyId}`, { do: 'revoke', confirm: 'test' }],
  ] as const)
    assert.equal((await dashboard.send(member, path, fields)).status, 403, path)
})

test('the sandbox leads from a search to a candidate, its score and its credential, without scripts', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await dashboard.visit('/dashboard/sandbox', {
    of: session,
    javaScriptEnabled: false,
  })
  // The API answers 400, and the page asks for what the API takes.
  await page.getByLabel('Search text').fill('x')
  await page.getByRole('button', { name: 'Send call' }).click()
  await page.getByText('Enter 2 to 80 characters').first().waitFor()
  assert.equal(await page.getByText('Answer: ').count(), 0)
  await page.getByLabel('Search text').fill('python')
  await page.getByRole('button', { name: 'Send call' }).click()
  await page.getByText('"resultCount"').waitFor()
  await page
    .getByRole('link', { name: /^Read / })
    .first()
    .click()
  await page.getByRole('heading', { name: 'Sandbox' }).waitFor()
  await page.getByRole('link', { name: 'Read its credential' }).click()
  await page.getByText('did:web:sandbox.invalid').last().waitFor()
  await page.getByRole('link', { name: 'Score', exact: true }).click()
  await page.getByLabel('Score ID').fill(markup)
  await page.getByRole('button', { name: 'Send call' }).click()
  await page.getByText('This is not a score ID').waitFor()
  assert.equal(await page.getByLabel('Score ID').inputValue(), markup)
  await page.getByText('client.scores.get(').waitFor()
  await page.getByRole('link', { name: 'Verify', exact: true }).click()
  await page.getByRole('button', { name: 'Send call' }).click()
  await page.getByText('"reason": "issuer_mismatch"').waitFor()
  assert.deepEqual(faults, [])
  await page.getByLabel('Credential').fill(markup)
  await page.getByRole('button', { name: 'Send call' }).click()
  await page.getByText('This is not JSON.').waitFor()
  assert.equal(await page.getByLabel('Credential').inputValue(), markup)
  await page.context().close()
})

test('a user switches to another own account in the header; a foreign account is refused as an unknown one', {
  skip: noBrowser,
}, async () => {
  const { db } = service.database
  const user = await dashboard.newUser()
  const other = await dashboard.newUser()
  const foreign = await dashboard.newUser()
  const { userId } = user
  const { accountId } = other
  await db.transaction((tx) =>
    insertMembership(tx, { userId, accountId, role: 'member', createdAt: new Date() }),
  )
  const refused = await Promise.all(
    [foreign.accountId, randomUUID()].map((account) =>
      dashboard.send(user, '/dashboard/account', { do: 'switch', account }),
    ),
  )
  const [one, another] = refused.map(({ status, body }) => [
    status,
    String(body).replaceAll(/req_\w+/g, ''),
  ])
  assert.equal(one?.[0], 404)
  assert.deepEqual(one, another)

  const { page, faults } = await dashboard.visit('/dashboard', {
    of: user,
    javaScriptEnabled: false,
  })
  await page.locator('header details summary').click()
  await follow(page, page.getByRole('button', { name: /^Switch to / }))
  await page.goto(`${service.base}/dashboard/team`)
  await page.getByText(other.email).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Invite', exact: true }).count(), 0)
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('an owner switches a notice off on the page Team; a member has no notices', async () => {
  const owner = await dashboard.newUser()
  const page = async (of: typeof owner) =>
    (await ask(service.base, { path: '/dashboard/team', headers: of.headers })).body.toString()
  const isOn = async (name: string) =>
    new RegExp(`name="notices:${name}"[^>]*checked`).test(await page(owner))
  assert.ok((await isOn('key_ends')) && (await isOn('credits_low')))
  const stored = { do: 'notices', 'notices:key_ends': 'on' }
  assert.equal((await dashboard.send(owner, '/dashboard/team', stored)).status, 303)
  assert.ok((await isOn('key_ends')) && !(await isOn('credits_low')))
  const member = await dashboard.newUser({ role: 'member', accountId: owner.accountId })
  assert.doesNotMatch(await page(member), /Notices by mail/)
  assert.equal((await dashboard.send(member, '/dashboard/team', stored)).status, 403)
})

test('a member reads the reports of the account, and requests a review of its lock', {
  skip: noBrowser,
}, async () => {
  const { db } = service.database
  const owner = await dashboard.newUser()
  const stranger = await dashboard.newUser()
  const key = await newKey(db, { accountId: owner.accountId })
  for (let n = 0; n < 22; n++) {
    const { status } = await ask(service.base, {
      method: 'POST',
      path: '/api/v1/agent-decisions',
      headers: {
        ...key.headers,
        'Content-Type': 'application/json',
        'Idempotency-Key': `report-number-${n}-of-many`,
      },
      body: JSON.stringify({
        subject: { kind: 'candidate', username: 'ada-lovelace' },
        decision: 'shortlisted',
        agentName: 'Scout <b>',
        notes: markup,
        metadata: { text: markup },
      }),
    })
    assert.equal(status, 201)
  }
  await lock(db, owner.accountId)
  const { page, faults } = await dashboard.visit('/dashboard/decisions', { of: owner })
  page.on('dialog', () => assert.fail('a script of an agent ran'))
  assert.equal(await page.locator('tbody tr').count(), 20)
  await inspectPage(page, 'decisions locked')
  await follow(page, page.getByRole('link', { name: 'Older' }))
  assert.equal(await page.locator('tbody tr').count(), 2)
  await page.getByRole('link', { name: 'Shortlisted' }).first().click()
  await page.getByText('Scout <b>').waitFor()
  await inspectPage(page, 'decision')
  const foreign = await ask(service.base, {
    path: new URL(page.url()).pathname,
    headers: stranger.headers,
  })
  assert.equal(foreign.status, 404)
  await page.goto(`${service.base}/dashboard/decisions`)
  await page.getByLabel('Note to the operator').fill('We fixed it.')
  await page.getByRole('button', { name: 'Request review' }).click()
  await page.getByText('The review is requested.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Request review' }).count(), 0)
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('the usage page shows the calls, the balance and the ledger of the account, and warns when credits run out', {
  skip: noBrowser,
}, async () => {
  const { db } = service.database
  const owner = await dashboard.newUser()
  const key = await newKey(db, { accountId: owner.accountId, credits: 25, name: markup })
  for (let n = 0; n < 21; n++) {
    const path = '/api/v1/candidates/search?q=nobody'
    assert.equal((await ask(service.base, { path, headers: key.headers })).status, 200)
  }
  const { page, faults } = await dashboard.visit('/dashboard/usage', { of: owner })
  page.on('dialog', () => assert.fail('a script in the name of a key ran'))
  await page.getByText('4 credits are left.').waitFor()
  assert.equal(await page.getByRole('link', { name: markup }).count(), 21)
  const lone = page.locator('.columns.third > .card:nth-child(4), .columns > .card:only-child')
  assert.equal(await lone.count(), 0, 'no card stands beside an empty place')
  await inspectPage(page, 'usage')
  await page.getByRole('link', { name: 'Older' }).click()
  await page.getByText('for a test').waitFor()
  await page.getByRole('link', { name: '90 days' }).click()
  await page.getByText('Spent, 90 days').waitFor()
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('an owner invites a member and removes one, without scripts', {
  skip: noBrowser,
}, async () => {
  const owner = await dashboard.newUser()
  const member = await dashboard.newUser({ accountId: owner.accountId, role: 'member' })
  const of = { of: owner, javaScriptEnabled: false }
  const { page, faults } = await dashboard.visit('/dashboard/team', of)
  await page.getByLabel('Email address').fill('ada@')
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.getByText('This is not a mail address.').first().waitFor()
  assert.equal(faults.splice(0).length, 1, 'the browser notes the status 400')
  await page.getByLabel('Email address').fill('ada.team@example.com')
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.getByText('This service sends no mail: hand this link over.').waitFor()
  await page.getByRole('button', { name: 'Withdraw ada.team@example.com' }).click()
  await page.getByText('The invitation is withdrawn.').waitFor()
  await page.getByRole('link', { name: `Remove ${member.email}` }).click()
  await page.getByText(`${member.email} is signed out of this account at once`).waitFor()
  await follow(page, page.getByRole('button', { name: 'Remove member' }))
  await page.getByText('The member is removed.').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 1)
  const { status } = await ask(service.base, { path: '/dashboard/team', headers: member.headers })
  assert.equal(status, 303)
  assert.deepEqual(faults, [])
  await page.context().close()
})
