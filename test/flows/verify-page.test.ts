/** The verify page in Chromium: page, browser and service agree on every document. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deflateRawSync, gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { originOf } from '../../src/score-credentials/payload.ts'
import { makeProof, type ProofForm, proofForms } from '../../src/score-credentials/proof.ts'
import { revokeCredentials } from '../../src/score-credentials/revoke.ts'
import { vcSha256Of } from '../../src/score-credentials/trust.ts'
import { contextAt } from '../support/build/actions.ts'
import { changed, inside, type Json, score, signerOf } from '../support/build/credentials.ts'
import { ask } from '../support/start/ask.ts'
import {
  inspectPage,
  inspectUrl,
  noBrowser,
  openBrowser,
  watchFaults,
} from '../support/start/browser.ts'
import { startIssuing, startService } from '../support/start/service.ts'

const publicUrl = 'http://localhost:8080'
const service = await startService(publicUrl)
after(() => service.stop())
const { base } = service
const issuer = await startIssuing(service)
const origin = originOf(publicUrl)

function signed(payload: Json, by = issuer.signer, form: ProofForm = 'native'): Json {
  const document = { document: payload, shape: origin.shape, jcsSha256: vcSha256Of(payload) }
  const verificationMethod = `${String(payload.issuer)}#${by.kid}`
  const created = new Date().toISOString().replace(/\.\d+/, '')
  return { ...payload, proof: makeProof(document, { form, created, verificationMethod }, by) }
}

const { credential, statusToken } = await issuer.issue(score())
const revoked = await issuer.issue(score({ username: 'bob' }))
await revokeCredentials(contextAt(service.database.db, new Date()), [
  { by: 'token', bytes: Buffer.from(revoked.statusToken, 'hex') },
])
await issuer.publish()
const valid = JSON.parse(JSON.stringify(credential)) as Json
const { proof: _, ...payload } = valid

const forms = Object.fromEntries(
  proofForms.map((form) => [form, signed(payload, issuer.signer, form)]),
) as Record<ProofForm, Json>

const documents: Record<string, [document: unknown, reason: string, browser?: string]> = {
  native: [valid, 'valid'],
  jcs: [forms['eddsa-jcs-2022'], 'valid'],
  rdfc: [forms['eddsa-rdfc-2022'], 'valid', 'unsupported_form'],
  revoked: [revoked.credential, 'revoked'],
  tampered: [
    changed(valid, (copy) => (inside(copy, 'credentialSubject').score = 999)),
    'signature_invalid',
  ],
  expired: [signed({ ...payload, validUntil: '2026-01-01T00:00:00Z' }), 'expired'],
  unregistered: [signed({ ...payload, id: 'urn:uuid:0' }), 'status_unknown', 'valid'],
  foreign: [
    signed(
      {
        ...payload,
        issuer: 'did:web:evil.example',
        '@context': [(payload['@context'] as string[])[0], 'https://evil.example/c'],
      },
      signerOf(8),
    ),
    'issuer_mismatch',
  ],
  stranger: [signed(payload, signerOf(8)), 'unknown_key'],
  empty: [{}, 'malformed_credential'],
}

let callers = 0
const newCaller = () => `198.18.${++callers >> 8}.${callers & 255}`

async function open(javaScriptEnabled = true): Promise<{ page: Page; faults: string[] }> {
  const browser = await openBrowser()
  const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' })
  context.setDefaultTimeout(10_000)
  await context.setExtraHTTPHeaders({ 'X-Forwarded-For': newCaller() })
  const page = await context.newPage()
  return { page, faults: watchFaults(page, base) }
}

interface Shown {
  service: string | null
  browser: string | null
  outcome: string | null
}

async function checkIn(page: Page, text: string): Promise<Shown> {
  await page.context().setExtraHTTPHeaders({ 'X-Forwarded-For': newCaller() })
  await page.goto(`${base}/verify`)
  await page.fill('#document', text)
  await Promise.all([page.waitForNavigation(), page.click('button[type=submit]')])
  return shownOn(page)
}

async function shownOn(page: Page): Promise<Shown> {
  const verdict = page.locator('.verdict[data-browser]')
  await verdict.waitFor()
  return {
    service: await verdict.getAttribute('data-reason'),
    browser: await verdict.getAttribute('data-browser'),
    outcome: await verdict.getAttribute('data-outcome'),
  }
}

async function serviceReason(text: string): Promise<string> {
  const { body } = await ask(base, {
    method: 'POST',
    path: '/api/v1/score-vc/verify',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newCaller() },
    body: text,
  })
  return JSON.parse(String(body)).reason ?? 'valid'
}

test('verify page: page, browser and service give each kind of credential its reason', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  for (const [name, [document, reason, browser = reason]] of Object.entries(documents)) {
    const text = JSON.stringify(document)
    const shown = await checkIn(page, text)
    assert.equal(shown.service, reason, name)
    assert.equal(shown.browser, browser, name)
    assert.equal(await serviceReason(text), reason, name)
    assert.equal(shown.outcome, browser === reason ? 'agree' : 'alone', name)
  }
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: axe finds nothing in the form and in each verdict, wide and narrow, light and dark', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  for (const name of ['native', 'revoked', 'tampered', 'expired', 'rdfc', 'empty']) {
    await checkIn(page, JSON.stringify(documents[name]?.[0]))
    await page.locator('summary').first().click()
    await inspectPage(page, `verify ${name}`)
  }
  await page.emulateMedia({ media: 'print' })
  await inspectPage(page, 'verify print')
  const context = page.context()
  await inspectUrl(context, `${base}/verify`, 'verify form')
  await inspectUrl(context, `${base}/`, 'home')
  assert.deepEqual(faults, [])
  await context.close()
})

test('verify page: 200 mutations get the same reason by page, browser and service', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  const text = JSON.stringify(valid)
  // A fixed sequence, so that a failure can be repeated.
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let i = 0; i < 200; i++) {
    const at = next(text.length)
    const put = ['', '"', '0', 'x', ' ', '\\u0041', ',', '9'][next(8)] ?? ''
    const mutated = text.slice(0, at) + put + text.slice(at + next(3))
    const result = await ask(base, {
      method: 'POST',
      path: '/verify',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: publicUrl,
        'X-Forwarded-For': newCaller(),
      },
      body: new URLSearchParams({ document: mutated }).toString(),
    })
    const onPage = /data-reason="([^"]+)"/.exec(String(result.body))?.[1] ?? 'no JSON'
    const expected = await serviceReason(mutated)
    const isJson = onPage !== 'no JSON'
    if (isJson) assert.equal(onPage, expected, mutated)
    // The browser checks each tenth: a page of its own for each takes most of the time.
    if (i % 10 !== 0 || !isJson) continue
    const shown = await checkIn(page, mutated)
    assert.equal(shown.service, expected, mutated)
    assert.equal(shown.browser, expected, mutated)
  }
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: the link of a check leads to the same verdict, and the fragment never reaches the server', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  await checkIn(page, JSON.stringify(valid))
  const link = (await page.locator('#link').textContent()) ?? ''
  assert.match(link, /^http:\/\/localhost:8080\/verify#z=[\w-]{800,1100}$/)
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  await page.goto('about:blank')
  await page.goto(base + link.slice(publicUrl.length))
  assert.equal((await shownOn(page)).service, 'valid')
  assert.ok(!page.url().includes('#z='))
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: a fragment that unpacks to 1 GB, or is damaged, is one sentence', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  const chunk = deflateRawSync(Buffer.alloc(64 * 1_048_576))
  const bomb = deflateRawSync(Buffer.alloc(1_073_741_824), { level: 9 }).toString('base64url')
  for (const fragment of [bomb, chunk.toString('base64url'), 'AAAA', '%%%', '']) {
    await page.goto('about:blank')
    await page.goto(`${base}/verify#z=${fragment}`)
    await page.locator('#input-problem:not([hidden])').waitFor()
    assert.match(
      (await page.locator('#input-problem').textContent()) ?? '',
      /^The link holds no credential/,
    )
  }
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: a long paste, a binary file, an archive and a large file are one sentence each', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  const problem = page.locator('#input-problem:not([hidden])')
  const file = async (name: string, buffer: Buffer) => {
    await page.goto(`${base}/verify`)
    await page.setInputFiles('#file', { name, mimeType: 'application/json', buffer })
    await problem.waitFor()
    return problem.textContent()
  }
  assert.match(
    (await file('photo.png', Buffer.from([0x89, 0x50, 0, 0xff]))) ?? '',
    /^photo\.png is not a text file/,
  )
  assert.match((await file('all.gz', gzipSync('{}'))) ?? '', /^all\.gz is not a text file/)
  assert.match((await file('long.json', Buffer.alloc(300_000, 32))) ?? '', /has 300,000 bytes/)
  assert.match((await file('<img src=x onerror=alert(1)>', Buffer.from([0]))) ?? '', /^<img src=x/)
  await page.goto(`${base}/verify`)
  await page.evaluate("document.querySelector('#document').value = 'x'.repeat(300000)")
  await page.click('button[type=submit]')
  await problem.waitFor()
  assert.match((await problem.textContent()) ?? '', /has 300,000 bytes/)
  await page.setInputFiles('#file', {
    name: 'c.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(valid, null, 2)),
  })
  assert.equal((await shownOn(page)).service, 'valid')
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: without scripts the form gives the verdict of the service, and names bad input', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open(false)
  const send = async (text: string) => {
    await page.goto(`${base}/verify`)
    await page.fill('#document', text)
    await Promise.all([page.waitForNavigation(), page.click('button[type=submit]')])
  }
  await send(JSON.stringify(valid))
  assert.equal(await page.locator('#verdict-title').textContent(), 'Valid')
  assert.equal(await page.locator('[data-row=issuer] [data-state=none]').isVisible(), true)
  await send(`${publicUrl}/standard/v1/score-vc-status/${statusToken}`)
  assert.equal(await page.locator('#verdict-title').textContent(), 'Not revoked')
  await send(`${publicUrl}/standard/v1/score-vc-status/${'0'.repeat(64)}`)
  assert.equal(await page.locator('#verdict-title').textContent(), 'Unknown status')
  for (const [text, message] of [
    ['', /^Paste a credential first/],
    ['no JSON', /^This is not JSON/],
    ['[]', /no object/],
    [' '.repeat(10) + '"x"'.repeat(100_000), /has 300,000 bytes/],
  ] as const) {
    await send(text)
    assert.match((await page.locator('#input-problem').textContent()) ?? '', message)
  }
  // Chromium notes the status of the refused inputs in its console.
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('400 (Bad Request)')),
    [],
  )
  await page.context().close()
})

test('verify page: naughty strings in a document run no script and break no markup', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  const naughty = `</code></pre></textarea><script>alert(1)</script><img src=x onerror=alert(2)>"'﷽`
  for (const name of [
    'id',
    'issuer',
    'validFrom',
    'type',
    '@context',
    'credentialSubject',
    'proof',
  ]) {
    const text = JSON.stringify({ ...valid, [name]: naughty, [naughty]: naughty })
    const shown = await checkIn(page, text)
    assert.equal(shown.service, await serviceReason(text))
    assert.equal(await page.locator('#presented').textContent(), text)
    assert.equal(await page.locator('main img').count(), 0)
  }
  const subject = changed(
    payload,
    (copy) => (inside(copy, 'credentialSubject').id = `${publicUrl}/u/${naughty}`),
  )
  await checkIn(page, JSON.stringify(signed(subject)))
  assert.equal(await page.locator('main img').count(), 0)
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: its scripts weigh at most 12 KB in gzip without the camera', async () => {
  const { body } = await ask(base, { path: '/verify' })
  const scripts = [...String(body).matchAll(/(?:src|href)="(\/assets\/[^"]+\.ts)"/g)].map(
    ([, path]) => path ?? '',
  )
  let total = 0
  for (const path of new Set(scripts)) {
    const reply = await ask(base, { path, headers: { 'Accept-Encoding': 'gzip' } })
    assert.equal(reply.status, 200, path)
    total += reply.body.length
  }
  assert.ok(total <= 12 * 1_024, `${total} bytes`)
})
