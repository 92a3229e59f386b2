/** Public documents over HTTP (decisions D9 and D10). */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import {
  ask,
  faultOfError,
  publicUrl,
  request,
  sampleText,
  startEdge,
} from '../../test/support/start/edge.ts'

const edge = await startEdge()
after(() => edge.stop())

const get = (...lines: string[]) => ask(edge.port, request('GET /document', lines))

test('200: a document is sent as its bytes, is cacheable, and is readable from any origin', async () => {
  const { status, headers, names, body } = await get()
  assert.equal(status, 200)
  assert.equal(String(body), sampleText)
  assert.equal(headers['content-type'], 'application/ld+json')
  assert.equal(headers['cache-control'], 'public, max-age=300')
  assert.equal(headers.vary, 'Accept-Encoding, Service-Version, Accept')
  assert.equal(headers['access-control-allow-origin'], '*')
  assert.equal(
    headers['access-control-expose-headers'],
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Request-Id, Retry-After, ETag, Link, RateLimit, RateLimit-Policy, Service-Version, Service-Credits-Charged, Service-Credits-Remaining',
  )
  assert.equal(headers['service-version'], '2026-05-14')
  assert.match(headers.etag ?? '', /^"[\w-]+"$/)
  assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length)
})

test('every response has its own X-Request-Id, even if the caller sends one', async () => {
  const seen = new Set<string | undefined>()
  for (let i = 0; i < 20; i++) seen.add((await get('X-Request-Id: mine')).headers['x-request-id'])
  assert.equal(seen.size, 20)
  assert.ok(!seen.has('mine'))
})

test('200: a request may have a hundred headers; 431: one more is rejected', async () => {
  const headers = Array.from({ length: 99 }, () => 'A: b')
  assert.equal((await get(...headers)).status, 200, 'with Host')
  assert.equal(faultOfError(await get(...headers, 'A: b'), 'headers_too_large'), null)
})

const edgeFile = join(import.meta.dirname, '../../test/support/start/edge.ts')

test('200: a head may have 16 KiB; 431: a longer one is rejected, with any Node option', async () => {
  const program = `
    import { ask, request, startEdge } from ${JSON.stringify(edgeFile)}
    const edge = await startEdge()
    const statuses = []
    for (const bytes of [16_384, 16_500]) {
      const rest = bytes - request('GET /document', ['A: ']).length
      const head = request('GET /document', ['A: ' + 'x'.repeat(rest)])
      statuses.push((await ask(edge.port, head)).status)
    }
    await edge.stop()
    console.log(statuses.join())`
  for (const headerBytesMax of [8_192, 65_536]) {
    const args = [
      `--max-http-header-size=${headerBytesMax}`,
      '--input-type=module',
      '--eval',
      program,
    ]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    assert.equal(stdout.trim(), '200,431')
  }
})

test('Accept-Encoding selects gzip or br: other bytes, another strong ETag, the same content', async () => {
  const plain = await get()
  const gzip = await get('Accept-Encoding: gzip')
  const br = await get('Accept-Encoding: gzip, br')
  assert.equal(gzip.headers['content-encoding'], 'gzip')
  assert.equal(br.headers['content-encoding'], 'br')
  assert.equal(String(gunzipSync(gzip.body)), sampleText)
  assert.equal(String(brotliDecompressSync(br.body)), sampleText)
  assert.equal(new Set([plain, gzip, br].map(({ headers }) => headers.etag)).size, 3)
})

test('304: If-None-Match matches the ETag alone, weak, in a list, or as *; the answer updates caches and has no body', async () => {
  const { etag, 'cache-control': caching, vary } = (await get()).headers
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, `"a,b" ,W/${etag}`, '*']) {
    const answer = await get(`If-None-Match: ${known}`)
    assert.equal(answer.status, 304, known)
    const { headers } = answer
    assert.deepEqual(
      [headers.etag, headers['cache-control'], headers.vary, headers['content-length']],
      [etag, caching, vary, undefined],
    )
  }
})

test('200: the ETag of another encoding and an empty ETag do not match', async () => {
  const { etag } = (await get()).headers
  for (const known of ['"other"', `"x${etag}"`, `${etag?.slice(0, -1)}`, ''])
    assert.equal((await get(`If-None-Match: ${known}`)).status, 200, known)
  const compressed = await get('Accept-Encoding: br', `If-None-Match: ${etag}`)
  assert.equal(compressed.status, 200)
})

test('HEAD returns the headers of GET with its length, and no body', async () => {
  const got = await get('Accept-Encoding: br')
  const head = await ask(edge.port, request('HEAD /document', ['Accept-Encoding: br']))
  const { 'x-request-id': a, date: b, ...expected } = got.headers
  const { 'x-request-id': c, date: d, ...headers } = head.headers
  assert.ok(a !== c && b !== undefined && d !== undefined)
  assert.deepEqual(headers, expected)
})

test('a document is application/json if the caller prefers it, with a Link to the context and another ETag', async () => {
  const plain = await get()
  const json = await get('Accept: application/json')
  assert.equal(json.headers['content-type'], 'application/json')
  assert.equal(
    json.headers.link,
    `<${publicUrl}/context>; rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"`,
  )
  assert.deepEqual(json.body, plain.body)
  assert.notEqual(json.headers.etag, plain.headers.etag)
  for (const accept of [
    '*/*',
    'application/ld+json, application/json',
    'application/json;q=0.5, */*',
  ])
    assert.equal((await get(`Accept: ${accept}`)).headers['content-type'], 'application/ld+json')
})

test('204: a preflight response lists the methods and headers that a script may send', async () => {
  const preflight = ['Origin: https://x.example', 'Access-Control-Request-Method: POST']
  const answer = await ask(edge.port, request('OPTIONS /echo', preflight))
  assert.equal(answer.status, 204)
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.equal(answer.headers['access-control-allow-methods'], 'POST, OPTIONS')
  assert.equal(
    answer.headers['access-control-allow-headers'],
    'Authorization, Content-Type, Idempotency-Key, If-None-Match, Service-Version, X-PAYMENT, PAYMENT-SIGNATURE',
  )
  assert.equal(answer.headers['content-length'], undefined)
})

test('200: the supported version, unknown query parameters and long paths are accepted', async () => {
  assert.equal((await get('Service-Version: 2026-05-14')).status, 200)
  const item = `/items/${'a'.repeat(12_000)}?utm_source=x&digest=00ff`
  const answer = await ask(edge.port, request(`GET ${item}`))
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(JSON.parse(String(answer.body))), ['id', 'digest'])
  assert.equal(answer.headers['cache-control'], 'private, no-store')
})
