/** The pure decisions of the HTTP edge, with many inputs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import fc from '../../test/support/oracle/fc.ts'
import { sampleEndpoints } from '../../test/support/start/edge.ts'
import { type ErrorName, errorTable, refuse } from '../platform/errors.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { clientNetwork, trustedProxies } from './client-network.ts'
import { headerSets } from './headers.ts'
import type { Encoding } from './http/document.ts'
import type { Endpoint } from './http/endpoint.ts'
import { mediaTypeFault } from './media-type.ts'
import { chooseEncoding, etagMatches, prefersPlainJson } from './negotiate.ts'
import { parameterCheck, parseQuery } from './parameters.ts'
import { renderRefusal } from './refusals.ts'
import { callerRequestId, createRequestIds } from './request-id.ts'
import { pathRoutes } from './routes.ts'

const all: Encoding[] = ['identity', 'br', 'gzip']

test('the X-Request-Id of a caller is a label only if it needs no escape and looks like no secret', () => {
  for (const id of ['a', 'Root-1_2.3', '0'.repeat(64)]) assert.equal(callerRequestId(id), id)
  for (const secret of ['svc_live_abc', 'whsec_abc'])
    assert.equal(callerRequestId(secret), undefined)
  for (const id of [undefined, '', '0'.repeat(65), 'a b', 'a"b', 'é', 'a\nb', 'a/b', ['a', 'b']])
    assert.equal(callerRequestId(id), undefined)
})

test('Accept-Encoding is read with weights, wildcards and refusals', () => {
  const cases: [string | undefined, Encoding][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['gzip;q=0.1', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', 'identity'],
    ['identity;q=1, gzip;q=0.9', 'identity'],
    ['identity;q=0, gzip', 'gzip'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['br;q=0, *', 'gzip'],
    ['gzip;q=2', 'identity'],
    ['gzip;q=x, br;q=0.001', 'br'],
    ['deflate, zstd', 'identity'],
  ]
  for (const [header, encoding] of cases)
    assert.equal(chooseEncoding(header, all), encoding, header)
  assert.equal(chooseEncoding('br, gzip', ['identity']), 'identity')
})

test('Accept selects plain JSON only if it has a higher weight', () => {
  for (const accept of [
    'application/json',
    'application/json, application/ld+json;q=0.9',
    'text/html, application/json, */*;q=0.1',
    'application/ld+json;q=0, */*',
  ])
    assert.ok(prefersPlainJson(accept), accept)
  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/*',
    'application/ld+json',
    'application/json;q=0.5, application/*',
    'text/html',
  ])
    assert.ok(!prefersPlainJson(accept), accept)
})

test('If-None-Match matches every list that contains the ETag, and no other', () => {
  const tag = fc.stringMatching(/^[\w,-]{1,12}$/).map((text) => `"${text}"`)
  fc.assert(
    fc.property(fc.array(tag), tag, fc.boolean(), (others, own, weak) => {
      const listed = [...others, weak ? `W/${own}` : own].join(', ')
      assert.ok(etagMatches(listed, own))
      assert.equal(etagMatches(others.join(', '), own), others.includes(own))
    }),
  )
})

test('a query that URLSearchParams writes is read back without loss', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'))
  const pairs = fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name })
  fc.assert(
    fc.property(pairs, (entries) => {
      const query = parseQuery(String(new URLSearchParams(entries)))
      assert.ok(query.kind === 'values')
      assert.deepEqual(new Map(Object.entries(query.values)), new Map(entries))
    }),
  )
})

test('the refusal of a parameter that is sent twice names it, unless the name is long', () => {
  const why = (text: string) => ({ kind: 'problem', why: text })
  assert.deepEqual(parseQuery('a=1&q=2&q=3'), why('The query parameter q occurs twice.'))
  const form = parseQuery('query=1&query=2', 'form')
  assert.deepEqual(form, why('The form parameter query occurs twice.'))
  const long = 'x'.repeat(65)
  assert.deepEqual(parseQuery(`${long}&${long}`), why('A query parameter occurs twice.'))
})

test('the refusal of a text that is too long says how long it may be', () => {
  const check = parameterCheck(Type.Object({ q: Type.String({ maxLength: 80 }) }))
  assert.deepEqual(check({ q: 'x'.repeat(80) }), { q: 'x'.repeat(80) })
  const refused = check({ q: 'x'.repeat(81) })
  assert.equal(refused.message, 'Parameter q is not valid. It has at most 80 characters.')
})

test('only the declared media types are accepted', () => {
  const accepted = ['application/json']
  fc.assert(
    fc.property(fc.string(), (text) => {
      const passes = mediaTypeFault(text, undefined, accepted) === null
      assert.ok(!passes || text.trim().toLowerCase().startsWith('application/json'))
    }),
  )
})

test('the client is the right-most address that is not a trusted proxy', () => {
  const trusted = trustedProxies(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'])
  const key = (peer: string, forwarded?: string) =>
    clientNetwork(peer, forwarded, trusted).buckets[0]?.key
  assert.equal(key('198.51.100.1', '203.0.113.9'), '198.51.100.1', 'an untrusted peer is not asked')
  assert.equal(key('10.1.1.1', '203.0.113.9'), '203.0.113.9')
  assert.equal(key('10.1.1.1', 'forged, 1.1.1.1, 203.0.113.9, 10.2.2.2'), '203.0.113.9')
  assert.equal(key('192.0.2.7', '203.0.113.9:4711'), '203.0.113.9')
  assert.equal(key('::ffff:10.1.1.1', '::ffff:203.0.113.9'), '203.0.113.9')
  assert.equal(key('10.1.1.1', '[2a00:1:2:3:4::5]:80'), '2a00:1:2:3::/64')
  assert.equal(key('10.1.1.1', '203.0.113.9, garbage'), '10.1.1.1', 'unreadable: the proxy itself')
  assert.equal(key('10.1.1.1', '0x7f.1'), '10.1.1.1')
  assert.equal(key('10.1.1.1'), '10.1.1.1')
  assert.equal(key(''), 'unknown')
})

test('all addresses of a /64 share one limit, and all of a /48 share a limit ten times as high', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff), { minLength: 5, maxLength: 5 }), (tail) => {
      const address = ['2a00', '1', '2', ...tail.map((part) => part.toString(16))]
      const network = clientNetwork(address.join(':'), undefined, [])
      assert.deepEqual(network.buckets[1], { key: '2a00:1:2::/48', factor: 10 })
      assert.equal(network.buckets[0]?.key, `${address.slice(0, 4).join(':')}::/64`)
      assert.equal(network.buckets[0]?.factor, 1)
    }),
  )
})

test('a proxy list that trusts every address or is malformed stops the service at its start', () => {
  for (const range of ['0.0.0.0/0', '::/0', '10.0.0.0/33', 'proxy.example', '', '10.0.0.0/x', '1'])
    assert.throws(() => trustedProxies([range]), /trusted proxy/, range)
})

test('request ids do not repeat', () => {
  const ids = new Set(Array.from({ length: 10_000 }, createRequestIds()))
  assert.equal(ids.size, 10_000)
  for (const id of ids) assert.match(id, /^[\w-]{16}$/)
})

test('a declaration without a policy, with a repeated name or without its parameters stops the service at its start', () => {
  const [document, item] = sampleEndpoints() as [Endpoint, Endpoint]
  const { policy: _, ...open } = document
  const { pathParameters: __, ...bare } = item
  const start = (...endpoints: unknown[]) => pathRoutes(endpoints as Endpoint[], createMetrics())
  assert.throws(() => start(open), /document has no policy/)
  assert.throws(() => start(document, { ...item, operationId: 'document' }), /occurs twice/)
  assert.throws(() => start(document, { ...document, operationId: 'b' }), /route GET \/document/)
  assert.throws(() => start(bare), /item has no schema for path parameter id/)
  assert.throws(() => start({ ...item, path: '/items' }), /describes id, which is not in its path/)
  assert.throws(() => start({ ...document, path: '/:x' }), /unusable path/)
  assert.throws(() => start({ ...document, method: 'POST' }), /a body exactly if POST/)
  assert.equal(start(document, item).length, 2)
})

test('a route that needs an API key answers 400 for a wrong media type or size, and 408, 417 and 431 like every route', () => {
  const sets = headerSets('https://scores.example.org')
  const statusesOf = (name: ErrorName) =>
    [false, true].map((isKeyed) => renderRefusal(sets, refuse(name), { isKeyed }).status)
  assert.deepEqual(statusesOf('unsupported_media_type'), [415, 400])
  assert.deepEqual(statusesOf('payload_too_large'), [413, 400])
  assert.deepEqual(statusesOf('request_timeout'), [408, 408])
  assert.deepEqual(statusesOf('expectation_failed'), [417, 417])
  assert.deepEqual(statusesOf('headers_too_large'), [431, 431])
})

test('every 503 has a Retry-After', () => {
  const sets = headerSets('https://scores.example.org')
  for (const [name, { status }] of Object.entries(errorTable)) {
    const { headers } = renderRefusal(sets, refuse(name as ErrorName))
    assert.equal(headers.includes('Retry-After'), status === 503, name)
  }
  const soon = renderRefusal(sets, refuse('unavailable', { headers: { 'Retry-After': '1' } }))
  assert.equal(soon.headers.filter((name) => name === 'Retry-After').length, 1)
})
