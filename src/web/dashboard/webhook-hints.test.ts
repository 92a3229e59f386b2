import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hintFor } from './webhook-hints.ts'

const host = 'hooks.example.com'
const failed = (over: Partial<Parameters<typeof hintFor>[0]>) =>
  hintFor({ responseStatus: null, errorCode: null, errorCause: null, ...over }, host)

test('hints: each failure of a delivery has one next step', () => {
  for (const errorCode of [
    'dns_error',
    'blocked_address',
    'connect_refused',
    'connect_timeout',
    'tls_error',
    'timeout',
    'reset',
    'body_error',
  ])
    assert.match(failed({ errorCode }) ?? '', /\w\.$/, errorCode)
  for (const responseStatus of [301, 308, 400, 401, 403, 404, 405, 410, 413, 415, 429, 500, 503])
    assert.match(failed({ responseStatus }) ?? '', /\w\.$/, String(responseStatus))
  assert.equal(failed({ responseStatus: 204 }), null)
  assert.equal(failed({ errorCode: 'not_begun' }), null)
})

test('hints: a fault of the DNS is named, and each status has the most exact sentence', () => {
  for (const [errorCause, hint] of [
    ['the name does not exist', /does not know hooks\.example\.com/],
    ['the name has no address', /Add an A or AAAA record\.$/],
    ['the name server did not answer in time', /The name server of hooks\.example\.com/],
    [null, /private zone/],
  ] as const)
    assert.match(failed({ errorCode: 'dns_error', errorCause }) ?? '', hint)
  for (const [responseStatus, hint] of [
    [409, /Answer 2xx/],
    [404, /No handler has this path/],
    [502, /A proxy before your server/],
    [503, /overloaded or stopped/],
    [504, /did not answer its proxy/],
    [500, /failed while it handled/],
  ] as const)
    assert.match(failed({ responseStatus }) ?? '', hint, String(responseStatus))
})

test('hints: a fault of the certificate is named', () => {
  for (const [errorCause, hint] of [
    ['certificate has expired', /has expired/],
    ['certificate is for another name', /for hooks\.example\.com/],
    ['certificate chain is incomplete, or its issuer is unknown', /intermediate certificate/],
    ['certificate is self-signed', /No public authority/],
    ['the server does not speak TLS on this port', /TLS 1\.2 or 1\.3/],
  ] as const)
    assert.match(failed({ errorCode: 'tls_error', errorCause }) ?? '', hint)
})
