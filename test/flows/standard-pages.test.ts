/** The skill standard as pages: their addresses, the search, and their look in Chromium. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { inspectUrl, noBrowser, openContext, watchFaults } from '../support/start/browser.ts'
import { pageBytesMax, weighPage } from '../support/start/page-weight.ts'
import { startService } from '../support/start/service.ts'

const service = await startService('http://localhost:8080')
after(service.stop)

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${service.base}${path}`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const pages = ['/standard', '/standard/skills/typescript', '/standard/bands', '/standard/vocab']

test('standard: each page is HTML with an ETag, and an unknown skill is 404', async () => {
  for (const path of pages) {
    const page = await get(path)
    assert.equal(page.status, 200, path)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    const etag = page.headers.get('etag') ?? ''
    assert.equal((await get(path, { 'If-None-Match': etag })).status, 304, path)
  }
  assert.equal((await get('/standard/skills/no-such-skill')).status, 404)
})

test('standard: every skill of the catalog has a page that leads to its record', async () => {
  const catalog = JSON.parse((await get('/standard/v1/skills')).text)
  assert.ok(catalog.skills.length >= 100)
  const { text: list } = await get('/standard')
  for (const { id } of catalog.skills) {
    const slug = id.slice('hss:'.length)
    const { status, text } = await get(`/standard/skills/${slug}`)
    assert.equal(status, 200, slug)
    assert.ok(text.includes(`/standard/v1/skills/${slug}`), slug)
    assert.ok(list.includes(`/standard/skills/${slug}`), slug)
  }
})

test('standard: each page with its style sheet and scripts weighs at most 60 KB in gzip', async () => {
  for (const path of pages) {
    const { total } = await weighPage(service.base, (await get(path)).text)
    assert.ok(total <= pageBytesMax, `${path} weighs ${total} bytes`)
  }
})

test('standard: axe finds nothing, nothing scrolls sideways, the console is empty', {
  skip: noBrowser,
}, async () => {
  const context = await openContext()
  for (const path of pages)
    await inspectUrl(context, service.base + path, path.slice(1).replaceAll('/', '-'))
  await context.close()
})

for (const javaScriptEnabled of [true, false])
  test(`standard: the search finds a skill ${javaScriptEnabled ? 'while the reader types' : 'without scripts'}`, {
    skip: noBrowser,
  }, async () => {
    const context = await openContext({ javaScriptEnabled })
    const page = await context.newPage()
    const faults = watchFaults(page, service.base)
    await page.goto(`${service.base}/standard`)
    await page.getByRole('searchbox').fill('typescr')
    if (!javaScriptEnabled) await page.getByRole('searchbox').press('Enter')
    await page.locator('a[href="/standard/skills/negotiation"]').waitFor({ state: 'hidden' })
    await page.locator('a[href="/standard/skills/typescript"]').first().click()
    await page.getByRole('heading', { name: 'TypeScript', level: 1 }).waitFor()
    assert.deepEqual(faults, [])
    await context.close()
  })

test('standard: a search for markup shows it as text', async () => {
  const { status, text } = await get(
    `/standard?q=${encodeURIComponent('<script>alert(1)</script>"')}`,
  )
  assert.equal(status, 200)
  assert.ok(!text.includes('<script>alert(1)'))
})
