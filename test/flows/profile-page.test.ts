/** Profiles, badges and downloads: their gates, their states, and their look in Chromium. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { proofForms } from '../../src/credentials/proof.ts'
import { sql } from '../../src/platform/db/db.ts'
import { canonicalJson } from '../../src/platform/json/canonical-json.ts'
import { renderBadge } from '../../src/web/public/badge.ts'
import { contextAt } from '../support/build/actions.ts'
import { score } from '../support/build/credentials.ts'
import { revokeNow } from '../support/build/registry.ts'
import { newSession } from '../support/build/sessions.ts'
import { publicLine, register, setConsent } from '../support/build/workers.ts'
import { ask, type Question, type Reply } from '../support/start/ask.ts'
import {
  inspectPage,
  inspectUrl,
  noBrowser,
  openContext,
  watchFaults,
} from '../support/start/browser.ts'
import { markup } from '../support/start/dashboard.ts'
import { pageBytesMax, weighPage } from '../support/start/page-weight.ts'
import { startIssuing, startService } from '../support/start/service.ts'

const publicUrl = 'http://localhost:8080'
const service = await startService(publicUrl)
after(() => service.stop())
const { base } = service
const { db } = service.database
const issuer = await startIssuing(service)

const skills = [{ name: 'Stated only' }, { name: 'TypeScript', verified: true, level: 'expert' }]

/** Registers a public worker with a score and its credential. Returns its status token. */
async function addScored(username: string, over: Record<string, unknown> = {}): Promise<string> {
  await register(db, [publicLine({ username, externalId: username, skills, ...over })])
  const issued = await issuer.issue(score({ username }))
  await db.run(sql`
    insert into scoring_vocabularies (vocabulary_sha256, rules, first_used_at)
    values (sha256('{}'), '{}', now()) on conflict do nothing`)
  await db.run(sql`
    insert into score_snapshots (snapshot_id, worker_id, state, change, as_of, engine_id, engine_version,
      engine_sha256, vocabulary_sha256, evidence_root, score, confidence_low, confidence_high, band,
      evidence_count, source_count, issued_at, vc_sha256, status_token)
    select sha256(${Buffer.from(username)}), worker_id, 'active', 'first', '2026-05-14', 'hsc', '1.0.0',
      sha256('e'), sha256('{}'), sha256('r'), 742, 701, 778, 'strong', 3, 3, now(),
      ${Buffer.from(issued.vcSha256, 'hex')}, ${Buffer.from(issued.statusToken, 'hex')}
    from profiles where username = ${username}`)
  return issued.statusToken
}

await addScored('ada-lovelace', { displayName: 'Ada Lovelace', title: 'Engineer' })
const revokedToken = await addScored('grace-hopper', { displayName: 'Grace Hopper' })
await revokeNow(contextAt(db, new Date()), [
  { by: 'token', bytes: Buffer.from(revokedToken, 'hex') },
])
await register(db, [publicLine({ username: 'no-score', externalId: 'n', displayName: 'No Score' })])
await addScored('naughty', {
  displayName: markup.slice(0, 80),
  title: markup,
  bio: markup,
  skills: [{ name: markup.slice(0, 60) }],
})
await addScored('long-name', { displayName: 'W'.repeat(60), title: 'Chief '.repeat(15).trim() })
await addScored('hidden', {})
await setConsent(db, 'hidden', {
  permission: 'public_profile',
  textVersion: null,
  by: 'test',
  at: new Date(),
})
await issuer.publish()

const get = (path: string, headers: Record<string, string> = {}) => ask(base, { path, headers })
const browserAccept = { Accept: 'text/html,*/*;q=0.8' }

/** Without the parts that differ between any two answers. */
function comparable({ status, headers, body }: Reply) {
  const { date: _, 'x-request-id': __, ratelimit: ___, ...others } = headers
  return { status, others, body: String(body) }
}

test('profile: the page shows name, score, range and skills, and is not for search engines', async () => {
  const { status, headers, body } = await get('/u/ada-lovelace')
  const text = String(body)
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.match(text, /<h1 class="break" dir="auto">Ada Lovelace<\/h1>/)
  assert.match(text, /<p class="muted break"><bdi>Engineer<\/bdi>/)
  assert.match(text, /<span class="value">742<\/span><span class="band">Strong<\/span>/)
  assert.match(text, /range 701 to 778/)
  assert.match(text, /Credential valid/)
  assert.match(text, /<meta name="robots" content="noindex">/)
  assert.match(text, /"@type":"ProfilePage"/)
  assert.ok(
    text.indexOf('TypeScript</span>') < text.indexOf('Stated only</span>'),
    'verified first',
  )
  assert.equal(
    headers.link,
    '</api/v1/candidates/ada-lovelace>; rel="alternate"; type="application/json"',
  )
})

test('profile: the operator opens profiles to search engines by a setting', async () => {
  const open = await startService(publicUrl, service, { env: { PROFILE_INDEXING: 'on' } })
  try {
    const { body } = await ask(open.base, { path: '/u/ada-lovelace' })
    assert.doesNotMatch(String(body), /name="robots"/)
  } finally {
    await open.stop()
  }
})

test('verify: every form of a public name leads to the current credential, also without scripts', async () => {
  const forms = [
    '@ada-lovelace',
    'ada-lovelace',
    'Ada-Lovelace',
    `${publicUrl}/u/ada-lovelace`,
    'localhost:8080/u/ada-lovelace/',
    `${publicUrl}/u/ada-lovelace/badge.svg?size=small`,
    `${publicUrl}/u/ada-lovelace/credential.json`,
    `${publicUrl}/api/v1/candidates/ada-lovelace`,
    `${publicUrl}/verify?of=@ada-lovelace`,
  ]
  for (const document of forms) {
    const { status, headers } = await ask(base, {
      method: 'POST',
      path: '/verify',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: publicUrl },
      body: new URLSearchParams({ document }).toString(),
    })
    assert.deepEqual([status, headers.location], [303, '/verify?of=@ada-lovelace'], document)
  }
  const { status, headers, body } = await get('/verify?of=@ada-lovelace')
  const text = String(body)
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.match(text, /<title>Valid: score of Ada Lovelace · assay<\/title>/)
  assert.match(text, /<meta property="og:title" content="Valid: score of Ada Lovelace">/)
  assert.doesNotMatch(
    text,
    /og:description" content="Score/,
    'no score while profiles are not listed',
  )
  assert.match(text, /id="link">http:\/\/localhost:8080\/verify\?of=@ada-lovelace</)
  assert.match(text, /<a href="\/u\/ada-lovelace">Ada Lovelace<\/a>/)
  assert.match(text, /Newer credential<\/dt><dd class="break">None/)
})

test('verify: a revoked, a hidden and an unknown person, and a document in the query', async () => {
  const revoked = await get('/verify?of=@grace-hopper')
  assert.equal(revoked.status, 404)
  assert.match(String(revoked.body), /This score has no credential at the moment/)
  assert.doesNotMatch(String(revoked.body), /Grace Hopper/, 'no name without a valid credential')
  const [hidden, absent] = await Promise.all(
    ['hidden', 'nobody-here'].map((name) => get(`/verify?of=@${name}`)),
  )
  assert.deepEqual([hidden?.status, absent?.status], [404, 404])
  assert.equal(String(hidden?.body), String(absent?.body))
  assert.equal((await get(`/verify?of=${encodeURIComponent('{"a":1}')}`)).status, 400)
})

test('verify: a recruiter checks a profile link, reads the docs, comes back and prints one page', {
  skip: noBrowser,
}, async () => {
  const context = await openContext()
  const page = await context.newPage()
  const faults = watchFaults(page, base)
  await page.goto(`${base}/verify`)
  await page.fill('#document', `${publicUrl}/u/ada-lovelace`)
  await page.click('button[type=submit]')
  await page.locator('.verdict[data-browser=valid]').waitFor()
  assert.equal(page.url(), `${base}/verify?of=@ada-lovelace`)
  await inspectPage(page, 'verify person')
  await page.click('.site-nav a[href="/docs"]')
  await page.waitForURL(`${base}/docs`)
  await page.goBack()
  await page.locator('.verdict[data-browser=valid]').waitFor()
  const pdf = await page.pdf({ format: 'A4' })
  assert.equal(pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length, 1)
  assert.deepEqual(faults, [])
  await context.close()
})

test('404: hidden, absent and impossible profiles, badges and downloads are equal in bytes and headers', async () => {
  for (const end of ['', '/badge.svg', '/credential.json'])
    for (const headers of [{}, browserAccept] as Record<string, string>[]) {
      const answers = await Promise.all(
        ['hidden', 'nobody-here', 'NOT-A-NAME', 'x'.repeat(300)].map(async (name) =>
          comparable(await get(`/u/${name}${end}`, headers)),
        ),
      )
      for (const answer of answers) {
        assert.equal(answer.status, 404)
        assert.deepEqual(answer, answers[0], end)
      }
    }
})

test('profile: skills of the standard lead to their pages, and the page weighs at most 60 KB', async () => {
  const text = String((await get('/u/ada-lovelace')).body)
  assert.match(text, /<a class="break" href="\/standard\/skills\/typescript">TypeScript<\/a>/)
  assert.match(text, /<span class="break" dir="auto">Stated only<\/span>/)
  const { total } = await weighPage(base, text)
  assert.ok(total <= pageBytesMax, `${total} bytes`)
})

test('profile: a candidate of the sandbox has a page that says so, without a credential', async () => {
  const { status, body } = await get('/u/sofia-lindqvist')
  assert.equal(status, 200)
  assert.match(String(body), /This candidate is fictional\./)
  assert.match(String(body), /<meta name="robots" content="noindex">/)
  assert.doesNotMatch(String(body), /Verify this score|Credential valid|badge\.svg/)
  for (const end of ['/badge.svg', '/credential.json'])
    assert.deepEqual(
      comparable(await get(`/u/sofia-lindqvist${end}`)),
      comparable(await get(`/u/nobody-here${end}`)),
    )
})

test('profile: a worker without a public score has a page without a badge and without a download', async () => {
  assert.match(String((await get('/u/no-score')).body), /No public score/)
  for (const end of ['/badge.svg', '/credential.json'])
    assert.equal((await get(`/u/no-score${end}`)).status, 404)
})

test('badge: it is an image for any site, with an ETag, for at most 5 minutes, without foreign references', async () => {
  for (const query of ['', '?theme=dark', '?size=small', '?size=small&theme=dark']) {
    const { status, headers, body } = await get(`/u/ada-lovelace/badge.svg${query}`)
    const text = String(body)
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'image/svg+xml')
    assert.equal(headers['cache-control'], 'public, max-age=300')
    assert.equal(headers['cross-origin-resource-policy'], 'cross-origin')
    assert.match(text, /<title id="t">assay: Ada Lovelace, score 742, strong, valid<\/title>/)
    assert.doesNotMatch(
      text.replace('http://www.w3.org/2000/svg', ''),
      /https?:|<script|<style|href|url\(/,
    )
    const again = await get(`/u/ada-lovelace/badge.svg${query}`, {
      'If-None-Match': headers.etag ?? '',
    })
    assert.equal(again.status, 304)
  }
  assert.equal((await get('/u/ada-lovelace/badge.svg?size=huge')).status, 400)
})

test('badge and profile: a score whose credential was revoked has the unknown badge, and waits for a new one on the page', async () => {
  const { body } = await get('/u/grace-hopper/badge.svg')
  assert.match(String(body), /Grace Hopper, unknown/)
  assert.doesNotMatch(String(body), /742/)
  assert.match(String((await get('/u/grace-hopper')).body), /Waits for a new credential/)
})

test('badge: an expired credential shows its last day, and an unreadable status no score', () => {
  const badge = { name: 'Ada', score: 742, low: 701, high: 778, band: 'strong' }
  for (const size of ['large', 'small'] as const)
    for (const theme of ['light', 'dark'] as const) {
      const look = { size, theme }
      const expired = renderBadge({ ...badge, state: 'expired', day: '21 Nov 2026' }, look)
      assert.match(expired, /<title id="t">assay: Ada, expired<\/title>/)
      assert.match(expired, size === 'large' ? />Strong until 21 Nov 2026</ : />Expired</)
      const unknown = renderBadge({ ...badge, state: 'unknown', day: null }, look)
      assert.match(unknown, /<title id="t">assay: Ada, unknown<\/title>/)
      for (const text of [expired, unknown]) assert.doesNotMatch(text, /742|<style|style=|<script/)
    }
})

test('badge: a name longer than 24 graphemes is cut', async () => {
  const { body } = await get('/u/long-name/badge.svg')
  const shown = />(W+)…</.exec(String(body))?.[1] ?? ''
  assert.ok(shown.length > 10 && shown.length < 24, shown)
})

test('profile: the download for a wallet comes first', async () => {
  const text = String((await get('/u/ada-lovelace')).body)
  const offered = [...text.matchAll(/credential\.json\?proof=([\w-]+)" download>([^<]+)</g)]
  assert.deepEqual(
    offered.map(([, form]) => form),
    ['eddsa-rdfc-2022', 'eddsa-jcs-2022', 'native'],
  )
  assert.match(offered[0]?.[2] ?? '', /^For a wallet/)
})

test('download: each form of proof verifies, and all have the same payload', async () => {
  const payloads = new Set<string>()
  for (const form of proofForms) {
    const { status, headers, body } = await get(`/u/ada-lovelace/credential.json?proof=${form}`)
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/ld+json')
    assert.equal(headers['content-disposition'], `attachment; filename="ada-lovelace-${form}.json"`)
    const { proof: _, ...payload } = JSON.parse(String(body))
    payloads.add(canonicalJson(payload))
    const verified = await ask(base, {
      method: 'POST',
      path: '/api/v1/score-vc/verify',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
    assert.equal(JSON.parse(String(verified.body)).valid, true, form)
  }
  assert.equal(payloads.size, 1)
})

test('404: profile, badge and download are gone once the consent ends, with the next request', async () => {
  await addScored('leaving')
  assert.equal((await get('/u/leaving')).status, 200)
  await setConsent(db, 'leaving', {
    permission: 'public_profile',
    textVersion: null,
    by: 'test',
    at: new Date(),
  })
  for (const end of ['', '/badge.svg', '/credential.json'])
    assert.deepEqual(
      comparable(await get(`/u/leaving${end}`)),
      comparable(await get(`/u/nobody-here${end}`)),
    )
})

test('profile: axe finds nothing, nothing scrolls sideways, and naughty names run no script', {
  skip: noBrowser,
}, async () => {
  const context = await openContext({ locale: 'en-GB' })
  for (const name of ['ada-lovelace', 'grace-hopper', 'no-score', 'naughty', 'long-name'])
    await inspectUrl(context, `${base}/u/${name}`, `profile ${name}`)
  const page = await context.newPage()
  await page.goto(`${base}/u/naughty`)
  assert.equal(await page.locator('main img:not([src^="/u/"])').count(), 0)
  assert.equal(await page.locator('h1').textContent(), markup.slice(0, 80))
  await page.goto(`${base}/u/ada-lovelace`)
  await page.click('text=Verify this score')
  const verdict = page.locator('.verdict[data-browser]')
  await verdict.waitFor()
  assert.equal(await verdict.getAttribute('data-browser'), 'valid')
  await context.close()
})

test('during an outage every public page is the same with a session cookie as without one, and the badge is “unknown”', async () => {
  const signedIn = await newSession(db, { publicUrl })
  const verified = JSON.stringify(
    (await issuer.issue(score({ username: 'ada-lovelace' }))).credential,
  )
  await service.database.takeAway()
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const post = (path: string, fields: Record<string, string>) => ({
    method: 'POST',
    path,
    headers: { ...form, 'Sec-Fetch-Site': 'same-origin' },
    body: new URLSearchParams(fields).toString(),
  })
  const pages: [number, Question][] = [
    ...[
      '/',
      '/verify',
      '/standard',
      '/standard/skills/typescript',
      '/docs',
      '/status',
      '/sign-in',
    ].map((path): [number, Question] => [200, { path }]),
    [200, post('/verify', { document: verified })],
    [200, { path: '/u/ada-lovelace/badge.svg' }],
    [503, { path: '/u/ada-lovelace' }],
    [503, { path: '/u/ada-lovelace/credential.json' }],
  ]
  for (const [status, question] of pages) {
    const asked = (headers: Record<string, string>) =>
      ask(base, { ...question, headers: { ...browserAccept, ...question.headers, ...headers } })
    const [stranger, user] = [await asked({}), await asked(signedIn.headers)]
    assert.equal(stranger.status, status, question.path)
    const told = ({ body }: Reply) => String(body).replaceAll(/\d{2}:\d{2}:\d{2}(\.\d{3})?/g, '')
    assert.deepEqual([user.status, told(user)], [status, told(stranger)], question.path)
  }
  const { headers, body } = await get('/u/ada-lovelace/badge.svg')
  assert.equal(headers['cache-control'], 'public, max-age=30')
  assert.match(String(body), /<title id="t">assay: @ada-lovelace, unknown<\/title>/)
  assert.deepEqual(
    String((await get('/u/nobody-here/badge.svg')).body),
    String(body).replaceAll('ada-lovelace', 'nobody-here'),
  )
  assert.match(String((await get('/u/ada-lovelace')).body), /A part of the service is down/)

  const here = await ask(base, {
    ...post('/sign-out', {}),
    headers: { ...form, ...signedIn.ownOrigin },
  })
  assert.equal(here.status, 200)
  assert.match(String(here.body), /You are signed out here/)
  const everywhere = await ask(base, {
    ...post('/sign-out', { everywhere: 'yes' }),
    headers: { ...form, ...signedIn.ownOrigin },
  })
  assert.equal(everywhere.status, 503)
  assert.match(String(everywhere.body), /your other sessions are still open/)
  for (const { headers } of [here, everywhere])
    assert.match(String(headers['set-cookie']), /^session=; .*Max-Age=0/)
})
