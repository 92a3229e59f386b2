/**
 * The way of a new developer through the dashboard in Chromium, with a real mail server, provider
 * of identities, receiver of webhooks and command line: sign in, first key, its printed command,
 * the call in the log, an endpoint, a test event, a failing receiver, a resend, a rotation, and the
 * end of the session. Once on a desktop with scripts, and once on a phone without.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { verifySignature } from '../../src/webhooks/delivery/attempt-request.ts'
import { eventTypes } from '../../src/webhooks/events/event-types.ts'
import { publishEvents } from '../../src/webhooks/events/outbox.ts'
import { ask } from '../support/start/ask.ts'
import { follow, noBrowser, openContext, watchFaults } from '../support/start/browser.ts'
import { testDatabase } from '../support/start/database.ts'
import { startMailServer } from '../support/start/mail-server.ts'
import { startOidcServer } from '../support/start/oidc-server.ts'
import {
  type Env,
  eventually,
  freePort,
  report,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'
import { startReceiver, testAuthority } from '../support/start/receiver.ts'

const port = await freePort()
const publicUrl = `http://localhost:${port}`
const database = await testDatabase()
const { db } = database
const mail = await startMailServer()
const provider = await startOidcServer(`${publicUrl}/sign-in/oidc/callback`)
let isBroken = false
const receiver = await startReceiver(['127.0.0.1'], (response) =>
  isBroken ? response.writeHead(503).end('the queue is full') : response.end('taken'),
)
const folder = temporaryFolder()
const [mailCa, hookCa] = [join(folder, 'mail-ca.pem'), join(folder, 'hook-ca.pem')]
writeFileSync(mailCa, mail.ca)
writeFileSync(hookCa, testAuthority().cert)
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: publicUrl,
  PORT: String(port),
  SMTP_URL: mail.url,
  SMTP_CA_FILE: mailCa,
  MAIL_FROM: 'no-reply@example.com',
  WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
  WEBHOOK_PORTS: 'any',
  SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  WEBHOOK_CA_FILE: hookCa,
  ...provider.env,
}
await startServer(env)
after(async () => {
  await Promise.all([mail.stop(), provider.stop(), receiver.close()])
  await database.drop()
})

async function signInByMail(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send sign-in link' }).click()
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
  // An invited person without a user gets the invitation.
  const { value: link } = await eventually('the link arrives', {
    see: async () => mail.received.findLast(({ to }) => to.includes(email))?.link,
  })
  await page.goto(link ?? '')
  await page.getByRole('button', { name: 'Join account' }).click()
}

async function signInByProvider(page: Page, email: string): Promise<void> {
  provider.user = { sub: email, email, email_verified: true }
  await page.getByRole('link', { name: /^Sign in with / }).click()
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Join account' }).click()
}

/** Opens the menu of pages on a phone, and follows an entry. */
async function open(page: Page, name: string): Promise<void> {
  // The style of the page decides whether the menu is visible.
  await page.waitForLoadState()
  const menu = page.getByRole('button', { name: 'Menu' })
  if (await menu.isVisible()) await menu.click()
  await page.getByRole('link', { name }).first().click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Loads the page again until it shows something, as a reader without scripts does. */
async function reloadUntil(page: Page, shown: Locator): Promise<void> {
  await eventually(`the page shows ${String(shown)}`, {
    see: async () => {
      await page.reload()
      return (await shown.count()) > 0
    },
  })
}

/** Runs the command that a page prints. */
async function run(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -sS -i`])
  return stdout
}

for (const { name, signIn, ...look } of [
  {
    name: 'on a desktop, with scripts, signed in by mail',
    signIn: signInByMail,
    javaScriptEnabled: true,
    colorScheme: 'light',
    viewport: { width: 1280, height: 900 },
  },
  {
    name: 'on a phone, without scripts, signed in by the provider',
    signIn: signInByProvider,
    javaScriptEnabled: false,
    colorScheme: 'dark',
    viewport: { width: 390, height: 844 },
  },
] as const)
  test(`a new developer reaches the first resend and rotation ${name}`, {
    skip: noBrowser,
  }, async () => {
    const email = `dev-${String(look.javaScriptEnabled)}@example.com`
    // With scripts some pages load themselves again; a reload at the same moment would fail.
    const untilItFollows = (page: Page, shown: Locator): Promise<void> =>
      look.javaScriptEnabled ? shown.waitFor() : reloadUntil(page, shown)
    await report(['accounts', 'create', email], env)
    await report(['users', 'invite', email, '--account', email], env)
    const context = await openContext({ ...look, locale: 'en-GB' })
    const page = await context.newPage()
    const faults = watchFaults(page, publicUrl)
    await page.goto(`${publicUrl}/dashboard`)
    await signIn(page, email)
    await page.getByRole('heading', { name: 'Home' }).waitFor()

    await page.getByRole('link', { name: 'Create key' }).first().click()
    await page.getByLabel('Name').fill('first key')
    await page.getByRole('button', { name: 'Create key' }).click()
    const answer = await run((await page.locator('#curl').textContent()) ?? '')
    assert.match(answer, /^HTTP\/1\.1 200 OK/)
    const requestId = /^x-request-id: (\S+)/im.exec(answer)?.[1] ?? ''
    if (look.javaScriptEnabled) await page.getByLabel('I have stored it').check()
    await page.getByRole('button', { name: 'Done' }).click()

    await open(page, 'Requests')
    const called = page.locator(`a[href="/dashboard/requests/${requestId}"]`).first()
    await untilItFollows(page, called)
    await called.click()
    await page.getByRole('link', { name: '/api/v1/candidates/search' }).waitFor()

    await open(page, 'Webhooks')
    await page.getByRole('link', { name: 'Add endpoint' }).first().click()
    const url = `127.0.0.1:${receiver.port}/${randomUUID()}`
    await page.getByLabel('URL').fill(`https://${url}`)
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    const secret = (await page.locator('#secret').textContent()) ?? ''
    if (look.javaScriptEnabled) await page.getByLabel('I have stored it').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('heading', { name: url }).waitFor()
    const endpointUrl = page.url().replace(/[?#].*/, '')
    await follow(page, page.getByRole('button', { name: 'Send test event' }))
    await reloadUntil(page, page.getByText('Delivered'))
    const arrived = () => receiver.received.filter(({ path }) => url.endsWith(path))
    const [first] = arrived()
    assert.ok(first !== undefined)
    const header = String(first.headers['service-webhook-signature'])
    const signed = { secret, body: first.body, nowSeconds: Date.now() / 1_000 }
    assert.ok(verifySignature(header, signed), 'the secret of the page signs')

    isBroken = true
    const workerId = randomUUID()
    const data = { ...eventTypes['score.updated'].example, workerId }
    await db.transaction((tx) =>
      publishEvents(tx, [{ type: 'score.updated', workerId, data }], new Date()),
    )
    await page.goto(`${endpointUrl}?state=undelivered`)
    await reloadUntil(page, page.getByText('503'))
    isBroken = false
    await page.getByRole('link', { name: 'score.updated' }).first().click()
    await page.getByText('the queue is full').waitFor()
    const before = arrived().length
    await follow(page, page.getByRole('button', { name: 'Resend now' }))
    await eventually('the event arrives again', { see: async () => arrived().length > before })
    await untilItFollows(page, page.getByText('Resent').first())

    await open(page, 'API keys')
    await page.getByRole('link', { name: 'first key' }).first().click()
    await page.getByRole('button', { name: 'Rotate key' }).click()
    assert.match((await page.locator('#secret').textContent()) ?? '', /^svc_test_/)
    if (look.javaScriptEnabled) await page.getByLabel('I have stored it').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await open(page, 'Audit log')
    await page.getByText('API key rotated').first().waitFor()

    const [cookie] = await context.cookies(publicUrl)
    await page.locator('summary', { hasText: 'your account' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const headers = { Cookie: `${cookie?.name}=${cookie?.value}` }
    const { status } = await ask(publicUrl, { path: '/dashboard', headers })
    assert.equal(status, 303, 'the old cookie opens nothing')
    assert.deepEqual(
      faults.filter((fault) => !fault.includes(provider.issuer)),
      [],
    )
    await context.close()
  })
