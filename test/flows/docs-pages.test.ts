/** The documentation as pages: their addresses, their forms, and their look in Chromium. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pagePathOf } from '../../src/discovery/docs-page.ts'
import { type ErrorRow, errorTable } from '../../src/platform/errors.ts'
import { newSession } from '../support/build/sessions.ts'
import { publicLine, register } from '../support/build/workers.ts'
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
import { startService } from '../support/start/service.ts'

const publicUrl = 'https://scores.example.org'
const contact = 'mailto:security@example.org'
const service = await startService(publicUrl, undefined, { env: { SECURITY_CONTACT: contact } })
after(service.stop)

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${service.base}${path}`, { headers })
  const type = response.headers.get('content-type') ?? ''
  return { status: response.status, type, headers: response.headers, text: await response.text() }
}

const sources = ['CHANGELOG.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')]

test('docs: every page answers as HTML, and with .md behind its path with the bytes of its file', async () => {
  assert.ok(sources.length > 100)
  for (const source of sources) {
    const path = pagePathOf(source)
    const page = await get(path)
    assert.deepEqual([page.status, page.type], [200, 'text/html; charset=utf-8'], path)
    assert.equal(page.headers.get('link'), `<${path}.md>; rel="alternate"; type="text/markdown"`)
    const markdown = await get(`${path}.md`)
    assert.deepEqual([markdown.status, markdown.type], [200, 'text/markdown; charset=utf-8'], path)
    assert.equal(markdown.text, readFileSync(source, 'utf8'))
  }
})

test('docs: commands of a guide call this deployment, and its Markdown is the file', async () => {
  const { text } = await get('/docs/agents')
  const plain = text.replaceAll(/<[^>]*>/g, '')
  assert.ok(plain.includes(`BASE=${publicUrl}`), 'the variable BASE')
  assert.doesNotMatch(plain, /BASE=http:\/\/localhost:8080/)
})

test('docs: no line breaks inside an option of a command', async () => {
  const { text } = await get('/docs/start')
  assert.ok(text.includes('<code>assay serve <span class="keep">--demo</span></code>'))
})

test('docs: every page of docs/ is in the navigation or is a decision', async () => {
  const { text } = await get('/docs')
  for (const source of globSync('docs/*.md')) {
    const path = pagePathOf(source)
    assert.ok(text.includes(`href="${path}"`), path)
  }
})

test('docs: a page is revalidated by its ETag, and an unknown page is 404', async () => {
  const { headers } = await get('/docs/start')
  const again = await get('/docs/start', { 'If-None-Match': headers.get('etag') ?? '' })
  assert.equal(again.status, 304)
  for (const path of ['/docs/no-such-page', '/docs/no-such-page.md', '/docs/api/noSuchOperation'])
    assert.equal((await get(path)).status, 404, path)
})

test('docs: a browser sees an unknown page as a page, and every other caller as JSON', async () => {
  for (const path of ['/docs/no-such-page', '/docs/api/noSuchOperation', '/docs/errors/none']) {
    const page = await get(path, { Accept: browserAccept })
    assert.deepEqual([page.status, page.type], [404, 'text/html; charset=utf-8'], path)
    assert.equal(JSON.parse((await get(path)).text).error, 'not_found')
  }
})

test('docs: the page, the style sheet and the scripts weigh at most 60 KB in gzip', async () => {
  const index = (await get('/docs')).text
  const shared = (await weighPage(service.base, index)).total - gzipSync(index).length
  for (const source of sources) {
    const bytes = shared + gzipSync((await get(pagePathOf(source))).text).length
    assert.ok(bytes <= pageBytesMax, `${source} weighs ${bytes} bytes`)
  }
})

test('errors: a browser gets a page, and every other caller gets JSON', async () => {
  for (const [name, row] of Object.entries<ErrorRow>(errorTable)) {
    const { command: _, ...shown } = row
    const path = `/docs/errors/${name}`
    for (const accept of ['application/json', '*/*', undefined]) {
      const answer = await get(path, accept === undefined ? {} : { Accept: accept })
      assert.deepEqual(JSON.parse(answer.text), { error: name, ...shown })
      assert.match(answer.headers.get('vary') ?? '', /\bAccept\b/)
    }
    const page = await get(path, { Accept: browserAccept })
    assert.deepEqual([page.status, page.type], [200, 'text/html; charset=utf-8'])
    assert.ok(page.text.includes(`<h1>${name}</h1>`), name)
  }
  assert.equal((await get('/docs/errors/no_such_error', { Accept: browserAccept })).status, 404)
})

test('api: every operation of the contract has a page with a request and a response', async () => {
  const contract = JSON.parse((await get('/api/v1/openapi.json')).text)
  const index = await get('/docs/api')
  for (const [path, methods] of Object.entries<Record<string, { operationId: string }>>(
    contract.paths,
  ))
    for (const [method, { operationId }] of Object.entries(methods)) {
      assert.ok(index.text.includes(`href="/docs/api/${operationId}"`), operationId)
      const page = await get(`/docs/api/${operationId}`)
      assert.equal(page.status, 200, operationId)
      assert.ok(page.text.includes(`data-method="${method.toUpperCase()}"`), operationId)
      assert.ok(page.text.replaceAll('<wbr>', '').includes(`<code>${path}</code>`), operationId)
      for (const language of ['curl', 'typescript', 'python'])
        assert.match(
          page.text,
          new RegExp(`data-language="${language}"[^>]*><code>\\S`),
          operationId,
        )
      assert.match(page.text, /id="response-20\d"/, operationId)
    }
})

test('api: the filter of operations works as a form, and the language stays on every page', {
  skip: noBrowser,
}, async () => {
  const { text } = await get('/docs/api?q=POST+webhook')
  assert.match(text, /href="\/docs\/api\/createWebhookEndpoint"/)
  assert.doesNotMatch(text, /href="\/docs\/api\/getScore"/)
  const context = await openContext()
  const page = await context.newPage()
  const faults = watchFaults(page, service.base)
  await page.goto(`${service.base}/docs/api`)
  await page.getByLabel('Filter operations').fill('webhookevents')
  await page.getByText('1 operation', { exact: true }).waitFor()
  await follow(page, page.locator('a[data-filtered=listWebhookEvents]'))
  await page.getByRole('radio', { name: 'curl' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.getByText('client.webhooks.events').waitFor()
  await page.goto(`${service.base}/docs/api/getSkill`)
  await page.getByText('client.skills.get').waitFor()
  await page.getByLabel('id').fill('typescript')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText(/^200 · \d+ ms$/).waitFor()
  await page.getByRole('region', { name: 'Answer' }).getByText('"TypeScript"').first().waitFor()
  await page.goto(`${service.base}/docs/api/searchCandidates`)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('link', { name: 'Sign in to send' }).waitFor()
  await page.goto(`${service.base}/docs/api/createWebhookEndpoint`)
  assert.equal(await page.getByRole('button', { name: 'Send' }).count(), 0)
  await page.goto(`${service.base}/docs/api/getSkill`)
  assert.equal(
    await page.locator('[data-languages] [data-copy]').getAttribute('data-copy'),
    'request-typescript',
  )
  await inspectPage(page, 'api operation')
  // Chromium notes the status of the refused call in its console.
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('401 (Unauthorized)')),
    [],
  )
  await context.close()
})

test('api: the form of an operation sends public reads and reads of the sandbox alone, never a write', async () => {
  const contract = JSON.parse((await get('/api/v1/openapi.json')).text)
  const sent: string[] = []
  for (const methods of Object.values<Record<string, { operationId: string }>>(contract.paths))
    for (const [method, { operationId }] of Object.entries(methods)) {
      const { text } = await get(`/docs/api/${operationId}`)
      const [, path, posts] = /data-send="([^"]+)"( data-method="POST")?/.exec(text) ?? []
      if (path === undefined) continue
      sent.push(`${posts === undefined ? 'GET' : 'POST'} ${path}`)
      assert.ok(method === 'get' || operationId === 'verifyScoreCredential', operationId)
    }
  assert.deepEqual(
    sent.filter((one) => one.startsWith('POST') || one.includes('/api/account/')),
    [
      'GET /api/account/developer/sandbox/candidates/search',
      'GET /api/account/developer/sandbox/candidates/{username}',
      'POST /api/v1/score-vc/verify',
      'GET /api/account/developer/sandbox/scores/{scoreId}',
    ],
  )
  // What a changed page could send: the routes themselves refuse it.
  const { db } = service.database
  const { headers } = await newSession(db, { publicUrl })
  await register(db, [publicLine({ username: 'a-real-person' })])
  const sandbox = '/api/account/developer/sandbox'
  const real = await get(`${sandbox}/candidates/a-real-person`, headers)
  const unknown = await get(`${sandbox}/candidates/nobody-at-all`, headers)
  assert.deepEqual([real.status, real.text], [404, unknown.text])
  const write = await ask(service.base, {
    method: 'POST',
    path: `${sandbox}/candidates/search?q=typescript`,
    headers,
  })
  assert.equal(write.status, 405)
  const huge = await ask(service.base, {
    method: 'POST',
    path: '/api/v1/score-vc/verify',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ a: 'x'.repeat(1_000_000) }),
  })
  assert.equal(huge.status, 413)
})

test('search: results are grouped with marked words, and an id leads to its page', async () => {
  const { text } = await get('/docs/find?q=insufficient_scope')
  assert.match(text, /<h2 id="errors">Errors<\/h2>.*href="\/docs\/errors\/insufficient_scope"/s)
  assert.match(text, /<mark>insufficient_scope<\/mark>|<mark>scopes?<\/mark>/)
  const answer = JSON.parse((await get('/docs/find.json?q=kPq3Zr0vT8sWx1Yb')).text)
  assert.equal(answer.jump.path, '/dashboard/requests/kPq3Zr0vT8sWx1Yb')
  assert.equal((await get(`/docs/find.json?q=${'a'.repeat(81)}`)).status, 400)
})

test('search: Ctrl K finds an operation by keyboard on public pages, and Escape closes it', {
  skip: noBrowser,
}, async () => {
  const context = await openContext()
  const page = await context.newPage()
  const faults = watchFaults(page, service.base)
  await page.goto(`${service.base}/standard`)
  await page.keyboard.press('Control+k')
  const field = page.getByRole('combobox', { name: /Search the docs/ })
  const { promise: told, resolve: tell } = Promise.withResolvers<undefined>()
  await page.route('**/docs/find.json?*', async (route) => {
    await told
    await route.continue()
  })
  await field.fill('createWebhookEndpoint')
  // The first search of a process makes the index.
  await page.getByText('Searching …').waitFor()
  tell(undefined)
  await page.getByRole('option').first().waitFor()
  await inspectPage(page, 'find-dialog')
  await page.keyboard.press('ArrowDown')
  const chosen = await field.getAttribute('aria-activedescendant')
  assert.equal(await page.locator(`#${chosen}`).getAttribute('aria-selected'), 'true')
  await page.keyboard.press('Escape')
  await field.waitFor({ state: 'hidden' })
  await page.keyboard.press('Control+k')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${service.base}/docs/api/createWebhookEndpoint`)
  assert.deepEqual(faults, [])
  await context.close()
})

test('search: a page is found by its words, and naughty queries change no markup', async () => {
  const found = await get('/docs/find?q=revoke+credential')
  assert.match(found.text, /href="\/docs\/issue-credentials/)
  const naughty = '"><script>alert(1)</script>'
  const { status, text } = await get(`/docs/find?q=${encodeURIComponent(naughty)}`)
  assert.equal(status, 200)
  assert.ok(!text.includes('<script>alert'))
  assert.ok(text.includes('&lt;script&gt;alert(1)&lt;/script&gt;'))
})

test('site: llms.txt leads to Markdown pages that answer, and llms-full.txt holds their text', async () => {
  const { text, type } = await get('/llms.txt')
  assert.equal(type, 'text/plain; charset=utf-8')
  assert.match(text, /^# assay\n\n> /)
  const links = [...text.matchAll(/\]\((https:[^)]+\.md)\)/g)].map(([, url = '']) => url)
  assert.ok(links.length > 40)
  const full = (await get('/llms-full.txt')).text
  for (const url of links) {
    const page = await get(url.slice(publicUrl.length))
    assert.equal(page.status, 200, url)
    assert.ok(full.includes(page.text.trim()), url)
  }
})

test('site: robots.txt, sitemap.xml and security.txt are complete', async () => {
  const robots = await get('/robots.txt')
  assert.match(robots.text, /^Sitemap: https:\/\/scores\.example\.org\/sitemap\.xml$/m)
  const sitemap = await get('/sitemap.xml')
  assert.equal(sitemap.type, 'application/xml; charset=utf-8')
  for (const [, url = ''] of sitemap.text.matchAll(/<loc>([^<]+)<\/loc>/g))
    assert.equal((await get(url.slice(publicUrl.length))).status, 200, url)
  const security = (await get('/.well-known/security.txt')).text
  assert.match(security, /^Contact: mailto:security@example\.org$/m)
  const expires = Date.parse(/^Expires: (.*)$/m.exec(security)?.[1] ?? '')
  const days = (expires - Date.now()) / 86_400_000
  assert.ok(days > 270 && days < 366, `it ends in ${days} days`)
})

test('docs: pages are accessible and within the policy, light and dark, wide and narrow', {
  skip: noBrowser,
}, async () => {
  const context = await openContext()
  // One page of each kind.
  for (const path of [
    '/docs',
    '/docs/start',
    '/docs/verify-a-credential',
    '/docs/configure',
    '/docs/errors/rate_limited',
    '/docs/api',
    '/docs/api/reportAgentDecision',
    '/docs/find?q=webhook',
    '/changelog',
  ])
    await inspectUrl(context, `${service.base}${path}`, path)
  await context.close()
})
