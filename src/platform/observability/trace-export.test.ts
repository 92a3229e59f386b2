import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { openEgress } from '../egress/client.ts'
import { operatorRules } from '../egress/rules.ts'
import { openTraceExport } from './trace-export.ts'
import type { Span } from './tracing.ts'

const egress = openEgress({ rules: operatorRules })
after(() => egress.close())

/** An exporter with `count` spans, and why its collector did not take them. */
async function exported(count: number, answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  after(() => server.closeAllConnections())
  after(() => server.close())
  await once(server, 'listening')
  const failures: string[] = []
  const exporter = openTraceExport({
    egress,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    resource: {},
    onFailure: (why) => failures.push(why),
  })
  const span: Span = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    parentId: undefined,
    name: 'one',
    kind: 'internal',
    attributes: {},
    links: [],
    startMs: 1,
    endMs: 2,
    steps: [],
    error: undefined,
  }
  for (let n = 0; n < count; n++) exporter.ended(span)
  return { exporter, failures }
}

test('what the collector refuses is dropped and told, and a full buffer drops what comes', async () => {
  const { exporter, failures } = await exported(5_000, (_, response) => {
    response.writeHead(503).end()
  })
  await exporter.close()
  assert.equal(exporter.dropped(), 5_000)
  assert.deepEqual([...new Set(failures)], ['the collector answered 503'])
})

test('a collector that never answers delays the stop by two seconds at most', async () => {
  const { exporter } = await exported(1_100, () => {})
  const startedAt = performance.now()
  await exporter.close()
  assert.ok(performance.now() - startedAt < 5_000)
  assert.equal(exporter.dropped(), 1_100 - 512, 'all but the batch that is under way')
})
