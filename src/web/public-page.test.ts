import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Type } from 'typebox'
import { ask } from '../../test/support/start/ask.ts'
import { publicUrl, startEdge } from '../../test/support/start/edge.ts'
import { publicDocument } from '../edge/http/document.ts'
import { endpoint } from '../edge/http/endpoint.ts'
import type { StatusChange } from '../health/parts.ts'
import { refuse, UnavailableError } from '../platform/errors.ts'
import { loadReleasedVocabulary } from '../standard/releases.ts'
import { homePage } from './public/home.ts'
import { type Probe, type StatusPageOptions, statusPages } from './public/status.ts'
import { pageDocument, publicEndpoint, siteOf, staticPage, viewAnswer } from './public-page.ts'
import { publicRefusalPage } from './refusal-page.ts'

const site = siteOf(publicUrl, 'Example <Scores> Ltd')
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const alternates = [{ path: '/thing.json', type: 'application/json' }]
const skills = new Map([['sql', pageDocument(site, { title: 'SQL', main: 'SQL' })]])

const at = new Date('2026-05-14T08:59:57Z')

/** What the status page reads. */
let probe: Probe = { isReady: true, checks: { database: 'ok' } }
const withJobs = { jobs: {} }
let survey: ReturnType<StatusPageOptions['survey']> = {
  live: [withJobs],
  jobs: [
    { name: 'send mails', isLate: false },
    { name: 'deliver webhooks', isLate: false },
    { name: 'fan out events', isLate: false },
  ],
}
let since: Date | null = new Date('2026-01-01T00:00:00Z')
const history: StatusChange[] = [
  {
    part: 'webhooks',
    state: 'fails',
    beganAt: new Date('2026-05-12T23:50:00Z'),
    endedAt: new Date('2026-05-13T00:05:00Z'),
  },
  { part: 'webhooks', state: 'fails', beganAt: at, endedAt: null },
]

const edge = await startEdge({
  notFoundPage: publicRefusalPage(site.host),
  endpoints: [
    homePage(site, { vocabulary: loadReleasedVocabulary(), demoDocument: null }),
    ...statusPages(site, {
      clock: () => new Date('2026-05-14T09:00:00Z'),
      probe: async () => probe,
      survey: () => survey,
      history: async () => ({ since, changes: history }),
      release: '1.2.0',
      startedAt: at,
    }),
    staticPage(site, { name: 'thing', path: '/thing', title: 'Thing', main: '<b>', alternates }),
    publicEndpoint(site, {
      name: 'skill',
      path: '/skills/{slug}',
      pathParameters: Type.Object({ slug: Type.String() }),
      answer({ path }) {
        const document = skills.get(path.slug)
        return document === undefined ? refuse('not_found') : { document }
      },
    }),
    publicEndpoint(site, {
      name: 'broken',
      path: '/broken',
      answer() {
        throw new Error('inside')
      },
    }),
    publicEndpoint(site, {
      name: 'away',
      path: '/away',
      answer() {
        throw new UnavailableError('inside')
      },
    }),
    publicEndpoint(site, {
      name: 'free',
      path: '/free',
      limits: { perMinute: 1, perDay: 100 },
      isFreeWithoutQuery: true,
      queryParameters: Type.Object({ q: Type.Optional(Type.String()) }),
      answer: () => viewAnswer(site, { title: 'Free', main: '' }),
    }),
    publicEndpoint(site, {
      name: 'asked',
      path: '/asked',
      limits: { perMinute: 2, perDay: 100 },
      queryParameters: Type.Object({ q: Type.Optional(Type.String()) }),
      answer: ({ query }) => viewAnswer(site, { title: 'Asked', main: query.q ?? '' }),
    }),
    endpoint({
      operationId: 'error',
      method: 'GET',
      path: '/errors/one',
      area: 'pages',
      summary: 'A document that shows itself to browsers',
      policy: { kind: 'open' },
      document: true,
      priority: 'public',
      responses: {},
      answer: () => ({
        document: publicDocument({
          body: '{}',
          contentType: 'application/json',
          maxAgeSeconds: 300,
          page: pageDocument(site, { title: 'Error', main: '' }),
        }),
      }),
    }),
  ],
})
after(() => edge.stop())

const get = (path: string, headers: Record<string, string> = {}) =>
  ask(`http://127.0.0.1:${edge.port}`, { path, headers })

test('200: a static page has an ETag and brotli, allows no foreign code, and is cacheable', async () => {
  const { status, headers, body } = await get('/')
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(headers['cache-control'], 'public, max-age=300')
  assert.match(String(headers['content-security-policy']), /require-trusted-types-for 'script'/)
  assert.match(String(headers['permissions-policy']), /^camera=\(\), /)
  assert.match(String(body), /<h1>/)
  const compressed = await get('/', { 'Accept-Encoding': 'br' })
  assert.equal(compressed.headers['content-encoding'], 'br')
  const again = await get('/', { 'If-None-Match': String(headers.etag) })
  assert.equal(again.status, 304)
})

test('200: a page links to its other forms in the header and in the head', async () => {
  const { headers, body } = await get('/thing')
  assert.equal(headers.link, '</thing.json>; rel="alternate"; type="application/json"')
  assert.match(String(body), /<link rel="alternate" type="application\/json" href="\/thing.json">/)
  assert.match(String(body), /&lt;b&gt;/)
})

test('404: a browser gets a page, and every other caller the closed error body', async () => {
  for (const path of ['/skills/unknown', '/nothing']) {
    const page = await get(path, { Accept: browser })
    assert.equal(page.status, 404)
    assert.match(String(page.body), /<h1 id="title">Page not found<\/h1>/)
    for (const Accept of ['*/*', 'application/json']) {
      const { status, headers, body } = await get(path, { Accept })
      assert.equal(status, 404)
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(JSON.parse(String(body)).error, 'not_found')
    }
  }
})

test('405: a browser that sends a form to a page that takes none gets a page', async () => {
  const form = { path: '/thing', method: 'POST' }
  const page = await ask(`http://127.0.0.1:${edge.port}`, { ...form, headers: { Accept: browser } })
  assert.deepEqual([page.status, page.headers.allow], [405, 'GET, HEAD, OPTIONS'])
  assert.match(String(page.body), /<h1 id="title">This page takes no form<.*Nothing was changed\./s)
  const json = await ask(`http://127.0.0.1:${edge.port}`, { ...form, headers: { Accept: '*/*' } })
  assert.equal(JSON.parse(String(json.body)).error, 'method_not_allowed')
})

test('413: the page tells a person what to do, and no number of bytes', () => {
  const refusal = { error: 'payload_too_large', message: 'The body is over 32768 bytes.' } as const
  const page = publicRefusalPage('example.org')({
    ...refusal,
    status: 413,
    target: '/',
    requestId: 'r',
  })
  assert.match(JSON.stringify(page), /The form holds too much<.*Go back and send less\./s)
  assert.doesNotMatch(JSON.stringify(page), /32768/)
})

test('500: the page shows the request ID that the operator needs', async () => {
  const { status, headers, body } = await get('/broken', { Accept: browser })
  assert.equal(status, 500)
  assert.match(String(body), /<h1 id="title">The service failed</)
  assert.ok(String(body).includes(`<code>${String(headers['x-request-id'])}</code>`))
})

test('503: the page says when to try again, and leads to the status page, which answers', async () => {
  const { status, body } = await get('/away', { Accept: browser })
  assert.equal(status, 503)
  assert.match(String(body), /Try again in a minute\. The <a href="\/status">/)
})

test('200: a page that depends on its query is rendered for each request and not stored', async () => {
  const { headers, body } = await get('/asked?q=%3Cscript%3E')
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.match(String(headers['content-security-policy']), /script-src 'self'/)
  assert.match(String(body), /&lt;script&gt;/)
  await get('/asked')
  const limited = await get('/asked')
  assert.equal(limited.status, 429)
  assert.match(String(limited.body), /Too many requests/)
})

test('200: a page that is equal for all without a query counts calls with a query alone', async () => {
  const statuses: number[] = []
  for (const path of ['/free', '/free', '/free?q=1', '/free', '/free?q=1'])
    statuses.push((await get(path)).status)
  assert.deepEqual(statuses, [200, 200, 200, 200, 429])
})

test('the footer names the operator as text, and the host beside it', async () => {
  const { body } = await get('/thing')
  assert.match(String(body), /Score credentials of <bdi>Example &lt;Scores&gt; Ltd<\/bdi> \(/)
})

test('200: a page that is rendered for each request is compressed, but not for a caller with a cookie (BREACH)', async () => {
  const zipped = await get('/status', { 'Accept-Encoding': 'gzip, br' })
  assert.equal(zipped.headers['content-encoding'], 'gzip')
  assert.match(String(zipped.headers.vary), /Accept-Encoding/)
  assert.equal(zipped.headers['content-length'], String(zipped.body.length))
  const plain = await get('/status')
  assert.deepEqual(gunzipSync(zipped.body), plain.body)
  assert.equal(plain.headers['content-encoding'], undefined)
  for (const headers of [{ Cookie: 'session=1' }, { 'Accept-Encoding': 'gzip;q=0' }]) {
    const answer = await get('/status', { 'Accept-Encoding': 'gzip', ...headers })
    assert.equal(answer.headers['content-encoding'], undefined)
    assert.match(String(answer.headers.vary), /Accept-Encoding/)
  }
})

test('200: a document with a page shows it to browsers alone, and caches keep both apart', async () => {
  const page = await get('/errors/one', { Accept: browser })
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  const json = await get('/errors/one')
  assert.equal(json.headers['content-type'], 'application/json')
  for (const { headers } of [page, json]) assert.match(String(headers.vary), /, Accept$/)
})

test('200: the status page and its JSON say which part works, since when, and how 90 days were', async () => {
  const { live, jobs } = survey ?? assert.fail('there is a survey')
  const late = jobs.map((job) => ({ ...job, isLate: job.name === 'fan out events' }))
  const cases = [
    { found: { live, jobs }, title: 'All systems work', webhooks: 'works', checks: 'works' },
    {
      found: { live, jobs: late },
      title: 'A part of this service works only in part',
      webhooks: 'limited',
      checks: 'works',
    },
    {
      found: { live: [{ jobs: null }], jobs },
      title: 'A part of this service does not work',
      webhooks: 'fails',
      checks: 'works',
    },
    {
      found: { live, jobs },
      database: '<no answer>',
      title: 'A part of this service does not work',
      webhooks: 'fails',
      checks: 'fails',
    },
  ]
  for (const { found, database = 'ok', title, webhooks, checks } of cases) {
    probe = { isReady: database === 'ok', checks: { database } }
    survey = found
    const { status, body } = await get('/status')
    assert.equal(status, 200)
    assert.ok(String(body).includes(`<h2 id="status-title">${title}</h2>`), title)
    const said = JSON.parse(String((await get('/status.json')).body))
    const stateOf = (name: string) =>
      said.parts.find((one: { name: string }) => one.name === name)?.state
    assert.deepEqual([stateOf('webhooks'), stateOf('checks')], [webhooks, checks])
    assert.equal(stateOf('scoring'), webhooks === 'fails' ? 'fails' : undefined)
    assert.doesNotMatch(String(body), /no answer/, 'reasons are for the operator')
  }
  const page = String((await get('/status')).body)
  assert.match(page, /Does not work since <time datetime="2026-05-14T08:59:57/)
  assert.match(page, /12 May 2026: did not work for 10 minutes/)
  assert.match(page, /13 May 2026: did not work for 5 minutes/)
  assert.match(page, /aria-label="3 days with an interruption in 90 days\."/)
  assert.match(page, /Release 1\.2\.0/)
  probe = { isReady: true, checks: { database: 'ok' } }
})

test('a day before the first look has no record, and no page says that all was well', async () => {
  since = new Date('2026-05-13T12:00:00Z')
  const young = String((await get('/status')).body)
  assert.match(young, /No interruption since 13 May 2026\./)
  assert.match(young, /<rect data-tone="neutral"[^>]*><title>11 May 2026: nothing is recorded/)
  assert.match(young, /<rect data-tone="positive"[^>]*><title>13 May 2026: no interruption/)
  assert.match(
    String((await get('/status.json')).body),
    /"recordedSince":"2026-05-13T12:00:00\.000Z"/,
  )
  since = null
  assert.match(String((await get('/status')).body), /Nothing is recorded yet\./)
})
