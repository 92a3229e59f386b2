/**
 * Sign-in with an OpenID Connect provider in Chromium. The provider is on another site and shows a
 * page of its own, so the browser comes back by a click on that site.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { inspectPage, noBrowser, openContext, watchFaults } from '../support/start/browser.ts'
import { testDatabase } from '../support/start/database.ts'
import { startOidcServer } from '../support/start/oidc-server.ts'
import {
  type Env,
  freePort,
  report,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const port = await freePort()
const publicUrl = `http://localhost:${port}`
const database = await testDatabase()
const provider = await startOidcServer(`${publicUrl}/sign-in/oidc/callback`)
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: temporaryFolder(),
  PUBLIC_URL: publicUrl,
  PORT: String(port),
  OIDC_NAME: 'Example & Sons <login>',
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'no-reply@example.com',
  ...provider.env,
}
await startServer(env)
after(async () => {
  await provider.stop()
  await database.drop()
})

for (const javaScriptEnabled of [true, false])
  test(`a user signs in by a click at the provider, and signs out, ${javaScriptEnabled ? 'with' : 'without'} scripts`, {
    skip: noBrowser,
  }, async () => {
    const email = `ada-${javaScriptEnabled}@example.com`
    provider.user = { sub: email, email, email_verified: true }
    await report(['accounts', 'create', `account of ${email}`], env)
    const context = await openContext({ javaScriptEnabled })
    const page = await context.newPage()
    const faults = watchFaults(page, publicUrl)
    const look = async (name: string) => {
      if (javaScriptEnabled) await inspectPage(page, name)
    }
    const toProvider = async (answer: string) => {
      await page.getByRole('link', { name: 'Sign in with Example & Sons <login>' }).click()
      await page.getByRole('heading', { name: 'Provider' }).waitFor()
      assert.ok(page.url().startsWith(provider.issuer))
      await page.getByRole('link', { name: answer }).click()
    }
    const ownFaults = () => faults.splice(0).filter((fault) => !fault.includes(provider.issuer))

    await page.goto(`${publicUrl}/dashboard/keys`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email address').waitFor()
    await look('sign-in with a provider')
    await toProvider('Cancel')
    await page.getByRole('heading', { name: 'You cancelled the sign-in' }).waitFor()
    await look('cancelled')
    assert.deepEqual(
      ownFaults().filter((fault) => !/status of 403/.test(fault)),
      [],
    )
    await toProvider('Continue')
    await page.getByRole('heading', { name: 'You are not invited yet' }).waitFor()
    assert.deepEqual(
      ownFaults().filter((fault) => !/status of 403/.test(fault)),
      [],
    )

    await report(['users', 'invite', email, '--account', `account of ${email}`], env)
    await context.clearCookies()
    await page.goto(`${publicUrl}/dashboard/keys`)
    await toProvider('Continue')
    await look('an invitation after the provider')
    await page.getByRole('button', { name: 'Join account' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await context.clearCookies()
    await page.goto(`${publicUrl}/dashboard/keys`)
    await toProvider('Continue')
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    assert.equal(page.url(), `${publicUrl}/dashboard/keys`)
    const cookies = await context.cookies(publicUrl)
    assert.deepEqual(
      cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]),
      [['session', true, 'Lax']],
    )
    await page.locator('summary', { hasText: 'your account' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(await context.cookies(publicUrl), [])
    assert.deepEqual(ownFaults(), [])
    await context.close()
  })
