/** The log and the metrics of requests, and the secrets that they must not show. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, openRaw, post, request, startEdge } from '../../test/support/start/edge.ts'
import { openLog, redact } from '../platform/observability/log.ts'
import { serveMetrics } from '../platform/observability/metrics.ts'

test('each request has one log line with method, route, status, time, request id, caller and error, and nothing else', async () => {
  const edge = await startEdge({ trustedProxies: [] })
  const answer = await ask(edge.port, request('GET /items/A?digest=00ff'))
  await ask(edge.port, request('GET /document'))
  await edge.stop()
  const [refused, served] = edge
    .logged()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const { time, us, client, ...rest } = refused
  assert.deepEqual(rest, {
    level: 'info',
    method: 'GET',
    route: '/items/{id}',
    status: 400,
    requestId: answer.headers['x-request-id'],
    error: 'invalid_parameter',
  })
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000 && us >= 0 && us < 10_000_000)
  assert.match(client, /^[\w-]{12}$/)
  assert.equal(served.client, client)
  assert.equal(served.error, undefined)
})

test('callers behind one connection of a proxy have different digests, request by request', async (t) => {
  const edge = await startEdge()
  t.after(() => edge.stop())
  const proxy = await openRaw(edge.port)
  for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.1', null]) {
    const from = address === null ? [] : [`X-Forwarded-For: ${address}`]
    proxy.send(request('GET /document', from))
    await proxy.answer()
  }
  proxy.socket.destroy()
  const clients = edge
    .logged()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).client)
  assert.equal(clients[2], clients[0])
  assert.equal(new Set(clients).size, 3)
})

test('a secret in any place of a request leaves no trace in log and metrics', async () => {
  const edge = await startEdge()
  const canary = 'svc_live_CANARYcanaryCANARYcanaryCANARY1'
  const requests = [
    request(`GET /${canary}`),
    request(`GET /items/${canary}`),
    request(`GET /document?key=${canary}`),
    request(`${canary} /document`),
    request('GET /document', [`Authorization: Bearer ${canary}`, `Cookie: ${canary}`]),
    request('GET /document', [`X-Request-Id: ${canary}`, `User-Agent: ${canary}`]),
    request('GET /document', [`Service-Version: ${canary}`, `X-Forwarded-For: ${canary}`]),
    request('GET /document', [`If-None-Match: ${canary}`, `Accept: ${canary}`]),
    post('/echo', JSON.stringify({ [canary]: canary })),
    post('/echo', canary),
    post('/echo', '{}', [`Content-Type: ${canary}`]),
    request('GET /broken'),
  ]
  for (const bytes of requests) await ask(edge.port, bytes)
  const seen = edge.logged() + (await edge.metrics.text())
  await edge.stop()
  assert.ok(seen.includes('an endpoint failed'))
  assert.doesNotMatch(seen, /CANARY|canary|whsec_secret/)
})

test('text that looks like a secret is blanked in every log line', () => {
  const pem = '-----BEGIN PRIVATE KEY-----\\nMC4CAQ\\n-----END PRIVATE KEY-----\\n'
  const line = `{"a":"svc_live_abc123 svc_test_x-y whsec_q","b":"${pem}","c":"-----BEGIN EC KEY-----\\nMHc"}`
  assert.equal(
    redact(line),
    '{"a":"[redacted] [redacted] [redacted]","b":"[redacted]\\n","c":"[redacted]"}',
  )
  let written = ''
  const log = openLog({ level: 'info', to: { write: (text) => void (written += text) } })
  log.error('signing failed', new Error(`key ${pem}`, { cause: new Error('svc_live_zzz') }))
  log.info('note', { token: 'whsec_zzz' })
  log.flush()
  assert.equal(written.trim().split('\n').length, 2)
  assert.doesNotMatch(written, /MC4CAQ|zzz/)
})

test('the log level applies to requests too', async () => {
  let written = ''
  const log = openLog({ level: 'warn', to: { write: (text) => void (written += text) } })
  const edge = await startEdge({ log })
  await ask(edge.port, request('GET /document'))
  await edge.stop()
  log.flush()
  assert.equal(written, '')
})

test('the metrics port serves requests by route and status, durations and JSON refusals', async () => {
  const edge = await startEdge()
  await ask(edge.port, request('GET /document'))
  await ask(edge.port, request('HEAD /document'))
  await ask(edge.port, request('GET /items/A'))
  await ask(edge.port, post('/echo', '{'))
  await ask(edge.port, post('/echo', '{"a":1,"a":2}'))
  await ask(edge.port, request('GET /nothing'))
  const page = await serveMetrics(
    { metrics: edge.metrics, probes: {} },
    { host: '127.0.0.1', port: 0 },
  )
  const scrape = () => fetch(`http://127.0.0.1:${page.port}/metrics`)
  await scrape()
  // A second scrape returns the same numbers: nothing is counted twice.
  const scraped = await scrape()
  const elsewhere = await fetch(`http://127.0.0.1:${page.port}/document`)
  const text = await scraped.text()
  await page.close()
  await edge.stop()
  assert.equal(elsewhere.status, 404)
  const lines = [
    'http_requests_total{route="GET /document",status="200"} 2',
    'http_requests_total{route="GET /items/{id}",status="400"} 1',
    'http_requests_total{route="unmatched",status="404"} 1',
    'http_request_duration_seconds_bucket{route="GET /document",le="+Inf"} 2',
    'http_request_duration_seconds_count{route="POST /echo"} 2',
    'http_json_invalid_total{route="POST /echo"} 1',
    'http_json_ambiguous_total{route="POST /echo"} 1',
    'http_in_flight{priority="search"} 0',
  ]
  for (const line of lines) assert.ok(text.includes(`${line}\n`), line)
  assert.match(text, /process_resident_memory_bytes/)
  const json = await edge.metrics.json()
  assert.ok(json.length > 10)
})
