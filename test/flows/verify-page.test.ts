/** The verify page in Chromium: page, browser and service agree on every document. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { encode } from 'uqr'
import { originOf } from '../../src/credentials/payload.ts'
import { makeProof, type ProofForm, proofForms } from '../../src/credentials/proof.ts'
import { vcSha256Of } from '../../src/credentials/trust.ts'
import { contextAt } from '../support/build/actions.ts'
import { changed, inside, type Json, score, signerOf } from '../support/build/credentials.ts'
import { revokeNow } from '../support/build/registry.ts'
import { ask } from '../support/start/ask.ts'
import {
  follow,
  inspectPage,
  inspectUrl,
  noBrowser,
  openContext,
  watchFaults,
} from '../support/start/browser.ts'
import { pageBytesMax, weighPage } from '../support/start/page-weight.ts'
import { eventually } from '../support/start/processes.ts'
import { startIssuing, startService } from '../support/start/service.ts'
import { cameraFile } from '../support/start/shared-browser.ts'

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

const superseded = await issuer.issue(score({ score: 700 }))
const { credential, statusToken } = await issuer.issue(score())
const revoked = await issuer.issue(score({ username: 'bob' }))
const revokedAt = new Date()
await revokeNow(contextAt(service.database.db, revokedAt), [
  { by: 'token', bytes: Buffer.from(revoked.statusToken, 'hex') },
])
await issuer.publish()
const valid = JSON.parse(JSON.stringify(credential)) as Json
const { proof: _, ...payload } = valid

const tamper = (document: Json) =>
  changed(document, (copy) => (inside(copy, 'credentialSubject').score = 999))
const foreignPayload: Json = {
  ...payload,
  issuer: 'did:web:evil.example',
  '@context': [(payload['@context'] as string[])[0], 'https://evil.example/c'],
}

function payloadOf(document: object): Json {
  const { proof: _, ...rest } = JSON.parse(JSON.stringify(document)) as Json
  return rest
}

/** The six credentials of the demo: each kind in each form of proof. */
const kinds: Record<string, (form: ProofForm) => Json> = {
  valid: (form) => signed(payload, issuer.signer, form),
  revoked: (form) => signed(payloadOf(revoked.credential), issuer.signer, form),
  tampered: (form) => tamper(signed(payload, issuer.signer, form)),
  expired: (form) =>
    signed({ ...payload, validUntil: '2026-01-01T00:00:00Z' }, issuer.signer, form),
  superseded: (form) => signed(payloadOf(superseded.credential), issuer.signer, form),
  foreign: (form) => signed(foreignPayload, signerOf(8), form),
}

const documents: Record<string, [document: unknown, reason: string, browser?: string]> = {
  native: [valid, 'valid'],
  jcs: [kinds.valid?.('eddsa-jcs-2022'), 'valid'],
  rdfc: [kinds.valid?.('eddsa-rdfc-2022'), 'valid', 'unsupported_form'],
  revoked: [revoked.credential, 'revoked'],
  tampered: [tamper(valid), 'signature_invalid'],
  expired: [signed({ ...payload, validUntil: '2026-01-01T00:00:00Z' }), 'expired'],
  unregistered: [signed({ ...payload, id: 'urn:uuid:0' }), 'status_unknown', 'valid'],
  foreign: [signed(foreignPayload, signerOf(8)), 'issuer_mismatch'],
  stranger: [signed(payload, signerOf(8)), 'unknown_key'],
  empty: [{}, 'malformed_credential'],
}

/** The sentences of the rows that did not pass, in their order. */
const found: Record<string, readonly string[]> = {
  native: [],
  revoked: [`The issuer revoked it on ${revokedAt.toISOString().slice(0, 10)}.`],
  tampered: [
    'At least one byte changed after the issuer signed it.',
    'The document names localhost:8080. Without a valid signature, anyone can write that.',
    'The status belongs to the original document, not to this one.',
  ],
  foreign: [
    'The document names evil.example, which this service does not answer for.',
    'Only evil.example has the keys for this check.',
    'Only evil.example knows whether it revoked it.',
  ],
  stranger: [
    'The key that it names never belonged to localhost:8080.',
    'The document names localhost:8080. Without a valid signature, anyone can write that.',
    'The status belongs to the original document, not to this one.',
  ],
  unregistered: ['localhost:8080 has never registered this credential.'],
}

let callers = 0
const newCaller = () => `198.18.${++callers >> 8}.${callers & 255}`

async function open(
  javaScriptEnabled = true,
  at = base,
): Promise<{ page: Page; faults: string[] }> {
  const context = await openContext({ javaScriptEnabled, locale: 'en-GB' })
  await context.setExtraHTTPHeaders({ 'X-Forwarded-For': newCaller() })
  const page = await context.newPage()
  return { page, faults: watchFaults(page, at) }
}

interface Shown {
  service: string | null
  browser: string | null
  outcome: string | null
}

async function checkIn(page: Page, text: string, at = base): Promise<Shown> {
  await page.context().setExtraHTTPHeaders({ 'X-Forwarded-For': newCaller() })
  await page.goto(`${at}/verify`)
  await page.fill('#document', text)
  await page.click('button[type=submit]')
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
    const others = await page.locator('[data-check]:not([data-check=passed])').allTextContents()
    if (name in found) assert.deepEqual(others, found[name], name)
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
  await inspectUrl(context, `${base}/status`, 'status')
  assert.deepEqual(faults, [])
  await context.close()
})

/** Returns what the page says of a document, or null if it is no JSON object. */
async function pageReason(text: string): Promise<string | null> {
  const { body } = await ask(base, {
    method: 'POST',
    path: '/verify',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Origin: publicUrl,
      'X-Forwarded-For': newCaller(),
    },
    body: new URLSearchParams({ document: text }).toString(),
  })
  return /data-reason="([^"]+)"/.exec(String(body))?.[1] ?? null
}

/** Checks documents in the browser with the script of the page, on one page for them all. */
async function browserReasons(page: Page, texts: readonly string[]): Promise<string[]> {
  await page.goto(`${base}/verify`)
  const path = await page.getAttribute('script[src$="verify-page.ts"]', 'src')
  const { body } = await ask(base, { path: path ?? '' })
  const contentType = 'text/javascript'
  await page.route('**/verify-batch.ts', (route) =>
    route.fulfill({ contentType, body: String(body) }),
  )
  return page.evaluate<string[]>(`(async () => {
    const { checkInBrowser } = await import('/verify-batch.ts')
    const reasons = []
    for (const text of ${JSON.stringify(texts)}) {
      const verdict = await checkInBrowser(text)
      reasons.push(verdict === null ? 'none' : (verdict.reason ?? 'valid'))
    }
    return reasons
  })()`)
}

test('verify page: six kinds in three forms and 200 mutations get one reason by page, browser and service', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  const originals = Object.values(kinds).flatMap((make) =>
    proofForms.map((form) => JSON.stringify(make(form))),
  )
  // A fixed sequence, so that a failure can be repeated.
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const mutations = Array.from({ length: 200 }, (_, i) => {
    const text = originals[i % originals.length] ?? ''
    const at = next(text.length)
    const put = ['', '"', '0', 'x', ' ', '\\u0041', ',', '9'][next(8)] ?? ''
    return text.slice(0, at) + put + text.slice(at + next(3))
  })
  const seen: { text: string; onPage: string; ofService: string }[] = []
  for (const text of [...originals, ...mutations]) {
    const [onPage, ofService] = await Promise.all([pageReason(text), serviceReason(text)])
    if (onPage !== null) seen.push({ text, onPage, ofService })
  }
  const inBrowser = await browserReasons(
    page,
    seen.map(({ text }) => text),
  )
  for (const [i, { text, onPage, ofService }] of seen.entries()) {
    assert.equal(onPage, ofService, text)
    const browser = inBrowser[i]
    // Only the service checks a proof that needs RDF, and only its registry knows every credential.
    const isAlone =
      (browser === 'unsupported_form' && text.includes('eddsa-rdfc-2022')) ||
      (browser === 'valid' && ofService === 'status_unknown')
    if (!isAlone) assert.equal(browser, ofService, text)
  }
  const compared = inBrowser.filter((reason) => reason !== 'unsupported_form').length
  assert.ok(compared > 60, `${compared} documents were compared`)
  assert.deepEqual(
    originals.map((_, i) => seen[i]?.ofService),
    ['valid', 'revoked', 'signature_invalid', 'expired', 'valid', 'issuer_mismatch'].flatMap(
      (reason) => proofForms.map(() => reason),
    ),
  )
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: if service and browser disagree, the page says so and shows no facts', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  const { kid } = signerOf(8)
  const id = `${origin.issuer}#${kid}`
  const otherKey = {
    id: origin.issuer,
    verificationMethod: [{ id, type: 'Multikey', publicKeyMultibase: kid }],
    assertionMethod: [id],
  }
  await page.route('**/did.json', (route) =>
    route.fulfill({ contentType: 'application/json', body: JSON.stringify(otherKey) }),
  )
  assert.deepEqual(await checkIn(page, JSON.stringify(valid)), {
    service: 'valid',
    browser: 'unknown_key',
    outcome: 'disagree',
  })
  assert.equal(await page.textContent('#verdict-title'), 'Service and browser disagree')
  assert.equal(await page.getAttribute('.verdict', 'data-tone'), 'negative')
  assert.equal(await page.locator('[data-facts]').isVisible(), false)
  assert.equal(await page.locator('[data-seal=negative]').isVisible(), true)
  await page.unroute('**/did.json')
  await page.route('**/status-lists/**', (route) => route.fulfill({ body: '{}' }))
  assert.deepEqual(await checkIn(page, JSON.stringify(valid)), {
    service: 'valid',
    browser: 'status_unavailable',
    outcome: 'alone',
  })
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: the camera reads the code of a check, and names a code that holds no credential', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  await checkIn(page, JSON.stringify(valid))
  const link = (await page.textContent('#link')) ?? ''
  const scan = async (text: string) => {
    writeFileSync(cameraFile(), videoOfCode(text))
    await page.goto(`${base}/verify`)
    await page.click('#scan')
  }
  await scan('https://example.org/menu')
  await page.locator('#input-problem:not([hidden])').waitFor()
  assert.match(
    (await page.textContent('#input-problem')) ?? '',
    /^This link belongs to example\.org/,
  )
  await scan(link)
  assert.equal((await shownOn(page)).service, 'valid')
  // Chromium notes the status of the refused code in its console.
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('400 (Bad Request)')),
    [],
  )
  await page.context().close()
})

/** Draws a QR code as a video in black and white, 480 pixels wide and high. */
function videoOfCode(text: string): Buffer {
  const { size, data } = encode(text, { ecc: 'L', border: 0, minVersion: 24 })
  const side = 480
  const scale = Math.floor((side - 40) / size)
  const edge = Math.floor((side - size * scale) / 2)
  const picture = Buffer.alloc(side * side, 235)
  for (let y = 0; y < size * scale; y++)
    for (let x = 0; x < size * scale; x++)
      if (data[Math.floor(y / scale)]?.[Math.floor(x / scale)])
        picture[(y + edge) * side + x + edge] = 16
  const frame = Buffer.concat([
    Buffer.from('FRAME\n'),
    picture,
    Buffer.alloc((side * side) / 2, 128),
  ])
  const head = Buffer.from(`YUV4MPEG2 W${side} H${side} F10:1 Ip A1:1 C420jpeg\n`)
  return Buffer.concat([head, ...Array.from({ length: 10 }, () => frame)])
}

test('verify page: the camera is on once, and off behind another page in its place', {
  skip: noBrowser,
}, async () => {
  writeFileSync(cameraFile(), videoOfCode(''))
  const { page, faults } = await open()
  await page.addInitScript(`
    const { mediaDevices } = navigator
    const begin = mediaDevices.getUserMedia.bind(mediaDevices)
    window.streams = []
    mediaDevices.getUserMedia = async (wanted) => {
      const stream = await begin(wanted)
      window.streams.push(stream)
      return stream
    }`)
  await page.goto(`${base}/verify`)
  await page.click('#scan')
  await page.click('#scan')
  await page.locator('#camera video').waitFor()
  await page.fill('#document', JSON.stringify(valid))
  await page.click('button[type=submit]')
  assert.equal((await shownOn(page)).service, 'valid')
  const states =
    'window.streams.flatMap((stream) => stream.getTracks()).map((one) => one.readyState)'
  const tracks = (): Promise<string[]> => page.evaluate(states)
  await eventually('the end of the camera', {
    see: async () => !(await tracks()).includes('live'),
  })
  assert.deepEqual(await tracks(), ['ended'])
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: a refusal for a moment is a sentence, and keeps what was entered', {
  skip: noBrowser,
}, async () => {
  const { page } = await open()
  const from = newCaller()
  const headers = {
    'X-Forwarded-For': from,
    Origin: publicUrl,
    'Content-Type': 'application/x-www-form-urlencoded',
  }
  for (let i = 0; i < 60; i++)
    await ask(base, { method: 'POST', path: '/verify', headers, body: 'document=' })
  await page.context().setExtraHTTPHeaders({ 'X-Forwarded-For': from })
  await page.goto(`${base}/verify`)
  await page.fill('#document', 'some text')
  await page.click('button[type=submit]')
  const problem = page.locator('#input-problem:not([hidden])')
  await problem.waitFor()
  assert.match((await problem.textContent()) ?? '', /^Too many requests\. The limit is 60 a minute/)
  assert.equal(await page.inputValue('#document'), 'some text')
  await page.context().close()
})

test('verify page: a dropped file and a dropped text are checked', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  const text = JSON.stringify(JSON.stringify(valid))
  for (const add of [
    `data.items.add(new File([${text}], 'c.json', { type: 'application/json' }))`,
    `data.setData('text/plain', ${text})`,
  ]) {
    await page.goto(`${base}/verify`)
    await page.evaluate(`{
      const data = new DataTransfer()
      ${add}
      const of = { dataTransfer: data, bubbles: true, cancelable: true }
      document.body.dispatchEvent(new DragEvent('drop', of))
    }`)
    assert.equal((await shownOn(page)).browser, 'valid', add.slice(0, 20))
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
  const address = base + link.slice(publicUrl.length)
  assert.equal(page.url(), address, 'the address leads to what is shown')
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  await page.goto('about:blank')
  await page.goto(address)
  assert.equal((await shownOn(page)).service, 'valid')
  assert.equal(page.url(), address)
  assert.ok(urls.every((url) => !url.includes(link.slice(-40))))
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: the way back from the docs, and between two verdicts, shows each verdict again', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  await checkIn(page, JSON.stringify(valid))
  const long = { ...valid, note: Array.from({ length: 3_000 }, (_, i) => `${i * 7_919} `).join('') }
  await page.click('a[href="#another"]')
  await page.fill('#document', JSON.stringify(long))
  await page.click('button[type=submit]')
  await page.locator('[data-reason=signature_invalid]').waitFor()
  assert.match(page.url(), /\/verify#local$/, 'too long for a link')
  await page.click('.site-nav a[href="/docs"]')
  await page.waitForURL(`${base}/docs`)
  await page.goBack()
  await page.locator('[data-reason=signature_invalid][data-browser]').waitFor()
  await page.goBack()
  await page.goBack()
  await page.locator('[data-reason=valid][data-browser]').waitFor()
  await page.goBack()
  await page.locator('#input-title').waitFor()
  await page.goForward()
  await page.locator('[data-reason=valid][data-browser]').waitFor()
  assert.equal(await page.title(), 'Valid: check a credential · assay')
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('verify page: a fragment that unpacks to 1 GB, or is damaged, is one sentence', {
  skip: noBrowser,
}, async () => {
  const { page, faults } = await open()
  // A part of a stream that unpacks to 64 MB, 16 times.
  const part = deflateRawSync(Buffer.alloc(67_108_864), { finishFlush: constants.Z_FULL_FLUSH })
  const end = deflateRawSync('')
  const bomb = Buffer.concat([...Array.from({ length: 16 }, () => part), end]).toString('base64url')
  for (const fragment of [bomb, 'AAAA', '%%%', '']) {
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
  assert.match((await file('a.svg', Buffer.from('<svg/>'))) ?? '', /^This picture holds no cred/)
  assert.match((await file('big.svg', Buffer.alloc(1_048_577, 60))) ?? '', /has 1,048,577 bytes/)
  assert.match((await file('a.pdf', Buffer.from('%PDF-1.7'))) ?? '', /^A PDF cannot be checked/)
  assert.match((await file('all.gz', gzipSync('{}'))) ?? '', /^all\.gz is not a text file/)
  assert.match((await file('long.json', Buffer.alloc(300_000, 32))) ?? '', /has 300,000 bytes/)
  assert.match((await file('<img src=x onerror=alert(1)>', Buffer.from([0]))) ?? '', /^<img src=x/)
  // Chromium tells no change if a field still has the file that is chosen again.
  assert.equal(await page.inputValue('#file'), '')
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
    await follow(page, page.locator('button[type=submit]'))
  }
  await send(JSON.stringify(valid))
  assert.equal(await page.locator('#verdict-title').textContent(), 'Valid')
  assert.equal(await page.locator('[data-row=issuer] [data-state=none]').isVisible(), true)
  await send(`${publicUrl}/standard/v1/score-vc-status/${statusToken}`)
  assert.equal(await page.locator('#verdict-title').textContent(), 'Not revoked')
  await send(`${publicUrl}/standard/v1/score-vc-status/${'0'.repeat(64)}`)
  assert.equal(await page.locator('#verdict-title').textContent(), 'Unknown status')
  for (const [text, message] of [
    ['', /^Paste a link, a handle or a credential first/],
    ['no JSON', /^This is no link, no handle and no JSON/],
    ['@nobody-here', /^There is no public score at this address/],
    [`${publicUrl}/u/nobody-here`, /^There is no public score at this address/],
    ['https://www.credly.com/badges/1', /^This link belongs to www\.credly\.com/],
    ['[]', /no object/],
    [' '.repeat(10) + '"x"'.repeat(100_000), /has 300,000 bytes/],
  ] as const) {
    await send(text)
    assert.match((await page.locator('#input-problem').textContent()) ?? '', message)
  }
  // Chromium notes the status of the refused inputs in its console.
  assert.deepEqual(
    faults.filter((fault) => !/status of 40[04]/.test(fault)),
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
  const part = encodeURIComponent(naughty)
  for (const path of [
    `/${part}`,
    `/u/${part}`,
    `/u/${part}/badge.svg`,
    `/verify/demo/${part}`,
    `/verify#z=${part}`,
    `/standard?q=${part}`,
    `/standard?domain=${part}`,
    `/standard/skills/${part}`,
    `/docs/${part}`,
    `/docs/errors/${part}`,
    `/docs/api/${part}`,
    `/docs/find?q=${part}`,
    `/?${part}=${part}`,
  ]) {
    await page.goto(base + path)
    assert.equal(await page.locator('main :is(img, script)').count(), 0, path)
  }
  // Chromium notes the status of unknown pages in its console.
  assert.deepEqual(
    faults.filter((fault) => !/status of 40[04]/.test(fault)),
    [],
  )
  await page.context().close()
})

test('home, verify and status: each page weighs at most 60 KB in gzip, the scripts of verify 20 KB', async () => {
  const verdict = await ask(base, {
    method: 'POST',
    path: '/verify',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: publicUrl },
    body: new URLSearchParams({ document: JSON.stringify(valid) }).toString(),
  })
  const pages = await Promise.all(['/', '/verify', '/status'].map((path) => ask(base, { path })))
  for (const { body } of [verdict, ...pages]) {
    const { total, scripts } = await weighPage(base, String(body))
    assert.ok(total <= pageBytesMax, `${total} bytes`)
    assert.ok(scripts <= 20 * 1_024, `${scripts} bytes of scripts`)
  }
})

test('verify page: after a move, service and browser agree on credentials of both addresses', {
  skip: noBrowser,
}, async (t) => {
  const movedUrl = 'http://localhost:9090'
  const moved = await startService(movedUrl, service, { env: { FORMER_PUBLIC_URLS: publicUrl } })
  t.after(() => moved.stop())
  const movedIssuer = await startIssuing(moved, issuer.signer)
  const fresh = await movedIssuer.issue(score({ username: 'carol' }))
  const withdrawn = await movedIssuer.issue(score({ username: 'dave' }))
  await revokeNow(contextAt(service.database.db, new Date()), [
    { by: 'token', bytes: Buffer.from(withdrawn.statusToken, 'hex') },
  ])
  await movedIssuer.publish()
  const { page, faults } = await open(true, moved.base)
  for (const [host, held, taken] of [
    ['localhost:8080', credential, revoked.credential],
    ['localhost:9090', fresh.credential, withdrawn.credential],
  ] as const) {
    const genuine = JSON.parse(JSON.stringify(held)) as Json
    for (const [document, reason] of [
      [genuine, 'valid'],
      [taken, 'revoked'],
      [tamper(genuine), 'signature_invalid'],
    ] as const) {
      const shown = await checkIn(page, JSON.stringify(document), moved.base)
      assert.deepEqual(shown, { service: reason, browser: reason, outcome: 'agree' }, host)
      const keys = await page.getAttribute('a[href^="/verify/issuers/"]', 'href')
      assert.equal(keys, `/verify/issuers/${host.replace(':', '%3A')}/did.json`)
      if (reason !== 'valid') continue
      const sentence = (await page.textContent('[data-sentence]')) ?? ''
      assert.equal(sentence, `Issued by ${host}, unchanged since, and not revoked.`)
    }
  }
  const stranger = await checkIn(page, JSON.stringify(documents.foreign?.[0]), moved.base)
  assert.equal(stranger.outcome, 'agree')
  assert.equal(stranger.browser, 'issuer_mismatch')
  assert.deepEqual(faults, [])
  await page.context().close()
  const elsewhere = await ask(moved.base, { path: '/verify/issuers/example.org/did.json' })
  assert.equal(elsewhere.status, 404, 'a host that is no address of this deployment')
})
