/** The pages of sign-in in Chromium: on localhost over http, and behind a proxy over TLS. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createServer } from 'node:tls'
import { createAuthority } from '../../src/demo/certificates.ts'
import { ask } from '../support/start/ask.ts'
import {
  inspectPage,
  inspectUrl,
  noBrowser,
  openContext,
  watchFaults,
} from '../support/start/browser.ts'
import { testDatabase } from '../support/start/database.ts'
import { type MailServer, startMailServer } from '../support/start/mail-server.ts'
import {
  type Env,
  eventually,
  freePort,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

interface Deployment {
  publicUrl: string
  mail: MailServer
  server: ServerProcess
  env: Env
}

async function deploy(publicUrl: string, port: number): Promise<Deployment> {
  const database = await testDatabase()
  const mail = await startMailServer()
  const folder = temporaryFolder()
  const caFile = join(folder, 'mail-ca.pem')
  writeFileSync(caFile, mail.ca)
  const env: Env = {
    DATABASE_URL: database.url,
    ASSAY_DATA_DIR: folder,
    PUBLIC_URL: publicUrl,
    PORT: String(port),
    TRUSTED_PROXIES: '127.0.0.1',
    SMTP_URL: mail.url,
    SMTP_CA_FILE: caFile,
    MAIL_FROM: 'no-reply@example.com',
  }
  const server = await startServer(env)
  after(async () => {
    await mail.stop()
    await database.drop()
  })
  return { publicUrl, mail, server, env }
}

/** Ends TLS, and passes on every byte, as a load balancer does. */
async function startTlsProxy(port: number, targetPort: number): Promise<void> {
  const proxy = createServer(createAuthority().certify('localhost'), (near) => {
    const far = connect(targetPort, '127.0.0.1')
    near.on('error', () => far.destroy())
    far.on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve))
  after(() => proxy.close())
}

/** `inspects`: each page on the way is inspected. */
async function signInAndOut(
  { publicUrl, mail, server, env }: Deployment,
  { inspects }: { inspects: boolean },
): Promise<void> {
  await report(['accounts', 'create', 'acme'], env)
  await report(['users', 'invite', 'ada@example.com', '--account', 'acme'], env)
  // Without scripts: each step is a form or a link.
  const context = await openContext({ javaScriptEnabled: false, ignoreHTTPSErrors: true })
  const page = await context.newPage()
  const faults = watchFaults(page, publicUrl)
  await eventually('the invitation arrives', { see: async () => mail.received.length > 0 })
  const invitation = mail.received[0]?.link ?? ''
  if (inspects) await inspectInvitation(publicUrl, invitation)
  await page.goto(invitation)
  await page.getByRole('heading', { name: 'Join acme?' }).waitFor()
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByRole('button', { name: 'Join account' }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.goto(`${publicUrl}/dashboard/team`)
  await page.getByText('Ada Lovelace').first().waitFor()
  await context.clearCookies()
  await page.goto(`${publicUrl}/sign-in`)
  await page.getByLabel('Email address').fill('ada@')
  await page.keyboard.press('Enter')
  await page.getByText('This is not a mail address.').waitFor()
  assert.deepEqual(
    faults.splice(0).map((fault) => /status of 400/.test(fault)),
    [true],
    'the browser notes the status of the form, and nothing else',
  )
  await page.getByLabel('Email address').fill('ada@example.com')
  await page.getByRole('button', { name: 'Send sign-in link' }).click()
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
  await eventually('the link arrives', {
    see: async () => mail.received.some(({ link }) => link.includes('token=')),
  })
  const link = mail.received.find(({ link }) => link.includes('token='))?.link ?? ''

  if (inspects) await inspectSignIn(publicUrl, link)
  await page.goto(link)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  assert.equal(page.url(), `${publicUrl}/dashboard`)
  const [cookie, ...others] = await context.cookies()
  assert.ok(cookie !== undefined)
  assert.deepEqual(others, [])
  const isTls = publicUrl.startsWith('https:')
  assert.equal(cookie.name, isTls ? '__Host-session' : 'session')
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.secure], [true, 'Lax', isTls])
  const read = async () =>
    (
      await ask(server.base, {
        path: '/api/account/webhooks/endpoints',
        headers: { Cookie: `${cookie.name}=${cookie.value}` },
      })
    ).status
  assert.equal(await read(), 200)
  await page.locator('summary', { hasText: 'your account' }).click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByLabel('Email address').waitFor()
  assert.deepEqual(await context.cookies(), [])
  assert.equal(await read(), 401)
  assert.deepEqual(faults, [])
  await page.goto(link)
  await page.getByRole('heading', { name: 'This link cannot be used' }).waitFor()
  await context.close()
}

async function inspectInvitation(publicUrl: string, link: string) {
  const context = await openContext()
  await inspectUrl(context, link, 'invitation')
  const page = await context.newPage()
  assert.equal((await page.goto(`${publicUrl}/invitations/x`))?.status(), 410)
  await inspectPage(page, 'ended invitation')
  await context.close()
}

async function inspectSignIn(publicUrl: string, link: string): Promise<void> {
  const context = await openContext()
  await inspectUrl(context, `${publicUrl}/sign-in`, 'sign-in')
  await inspectUrl(context, `${publicUrl}/sign-in/sent`, 'sent')
  await inspectUrl(context, link, 'confirm')
  const page = await context.newPage()
  assert.equal((await page.goto(`${publicUrl}/sign-in/confirm?token=x`))?.ok(), false)
  await inspectPage(page, 'unusable')
  await context.close()
}

test('Chromium on localhost: the pages sign a user in and out without scripts, and axe finds nothing', {
  skip: noBrowser,
}, async () => {
  const port = await freePort()
  await signInAndOut(await deploy(`http://localhost:${port}`, port), { inspects: true })
})

test('Chromium behind a TLS proxy: the pages sign a user in and out with a Secure cookie', {
  skip: noBrowser,
}, async () => {
  const [port, publicPort] = [await freePort(), await freePort()]
  await startTlsProxy(publicPort, port)
  await signInAndOut(await deploy(`https://localhost:${publicPort}`, port), { inspects: false })
})
