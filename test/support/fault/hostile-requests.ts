/**
 * Hostile requests, byte by byte, with the answer each must get. Used by the test of the HTTP edge
 * and by the benchmark of slow clients.
 */
import { post, request } from '../start/edge.ts'

const get = (path: string): string => request(`GET ${path}`)
const lines = (...list: string[]): string => `${list.join('\r\n')}\r\n\r\n`
const json = 'Content-Type: application/json'

/** Name, bytes to send, and the status and `error` of the expected answer. */
export type HostileCase = [name: string, bytes: string | Buffer, status: number, error: string]

const framing: HostileCase[] = [
  [
    'absolute form',
    lines('GET http://evil.example/document HTTP/1.1', 'Host: x'),
    400,
    'bad_request',
  ],
  ['asterisk form', lines('GET * HTTP/1.1', 'Host: x'), 400, 'bad_request'],
  ['authority form', lines('CONNECT evil.example:443 HTTP/1.1', 'Host: x'), 400, 'bad_request'],
  ['a fragment', get('/document#x'), 400, 'bad_request'],
  ['raw bytes in the path', Buffer.from(get('/dö'), 'latin1'), 400, 'bad_request'],
  ['a malformed percent escape', get('/items/%ZZ'), 400, 'bad_request'],
  ['a cut percent escape', get('/items/a%2'), 400, 'bad_request'],
  ['a path that is not UTF-8', get('/items/%ff'), 400, 'bad_request'],
  ['an overlong dot', get('/%c0%ae/document'), 400, 'bad_request'],
  ['an escaped NUL in the path', get('/items/a%00'), 400, 'bad_request'],
  ['no Host', lines('GET /document HTTP/1.1'), 400, 'bad_request'],
  ['two Host headers', request('GET /document', ['Host: other']), 400, 'bad_request'],
  [
    'two Host headers in other letters',
    request('GET /document', ['hOST: other']),
    400,
    'bad_request',
  ],
  ['an invalid Host', lines('GET /document HTTP/1.1', 'Host: a b'), 400, 'bad_request'],
  ['a Host with a path', lines('GET /document HTTP/1.1', 'Host: a/b'), 400, 'bad_request'],
  [
    'two Authorization headers',
    request('GET /document', ['Authorization: a', 'Authorization: b']),
    400,
    'bad_request',
  ],
  [
    'two Content-Type headers',
    request('POST /echo', [json, json, 'Content-Length: 2'], '{}'),
    400,
    'bad_request',
  ],
  [
    'Transfer-Encoding in HTTP/1.0',
    lines('POST /echo HTTP/1.0', 'Host: x', json, 'Transfer-Encoding: chunked'),
    400,
    'bad_request',
  ],
  [
    'Content-Length with Transfer-Encoding',
    request('POST /echo', [json, 'Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
    400,
    'bad_request',
  ],
  [
    'a transfer coding beside chunked',
    request('POST /echo', [json, 'Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
    400,
    'bad_request',
  ],
  [
    'chunked twice',
    request('POST /echo', [json, 'Transfer-Encoding: chunked, chunked'], '0\r\n\r\n'),
    400,
    'bad_request',
  ],
  [
    'two Content-Lengths',
    request('POST /echo', [json, 'Content-Length: 2', 'Content-Length: 3'], '{}'),
    400,
    'bad_request',
  ],
  [
    'a list of Content-Lengths',
    request('POST /echo', [json, 'Content-Length: 2, 2'], '{}'),
    400,
    'bad_request',
  ],
  [
    'a negative Content-Length',
    request('POST /echo', [json, 'Content-Length: -1']),
    400,
    'bad_request',
  ],
  [
    'a signed Content-Length',
    request('POST /echo', [json, 'Content-Length: +2'], '{}'),
    400,
    'bad_request',
  ],
  [
    'a hexadecimal Content-Length',
    request('POST /echo', [json, 'Content-Length: 0x2'], '{}'),
    400,
    'bad_request',
  ],
  [
    'a Content-Length beyond 64 bits',
    request('POST /echo', [json, 'Content-Length: 99999999999999999999']),
    400,
    'bad_request',
  ],
  [
    'an invalid chunk size',
    request('POST /echo', [json, 'Transfer-Encoding: chunked'], 'zz\r\n'),
    400,
    'bad_request',
  ],
  [
    'a chunk longer than it says',
    request('POST /echo', [json, 'Transfer-Encoding: chunked'], '1\r\n{}\r\n0\r\n\r\n'),
    400,
    'bad_request',
  ],
  ['a bare line feed', 'GET /document HTTP/1.1\nHost: x\n\n', 400, 'bad_request'],
  ['a bare carriage return', 'GET /document HTTP/1.1\r\nHost: x\rX: y\r\n\r\n', 400, 'bad_request'],
  ['a space before the colon', lines('GET /document HTTP/1.1', 'Host : x'), 400, 'bad_request'],
  ['a folded header', lines('GET /document HTTP/1.1', 'Host: x', 'A: b', ' c'), 400, 'bad_request'],
  ['a NUL in a header', lines('GET /document HTTP/1.1', 'Host: x', 'A: b\0c'), 400, 'bad_request'],
  [
    'a NUL in a header name',
    lines('GET /document HTTP/1.1', 'Host: x', 'A\0: b'),
    400,
    'bad_request',
  ],
  ['a NUL in the path', lines('GET /docu\0ment HTTP/1.1', 'Host: x'), 400, 'bad_request'],
  ['an unknown method', lines('FOO /document HTTP/1.1', 'Host: x'), 400, 'bad_request'],
  ['a method in lower case', lines('get /document HTTP/1.1', 'Host: x'), 400, 'bad_request'],
  ['an unknown HTTP version', lines('GET /document HTTP/3.7', 'Host: x'), 400, 'bad_request'],
  ['HTTP/2.0 in the form of 1.1', lines('GET /document HTTP/2.0', 'Host: x'), 400, 'bad_request'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'bad_request'],
  ['HTTP/0.9', 'GET /document\r\n\r\n', 400, 'bad_request'],
  ['a TLS handshake', Buffer.from('16030100a5010000a10303', 'hex'), 400, 'bad_request'],
  ['noise', Buffer.from('00ff00ff0d0a0d0a', 'hex'), 400, 'bad_request'],
  [
    'an Expect we do not know',
    request('GET /document', ['Expect: the-unexpected']),
    417,
    'expectation_failed',
  ],
  [
    'headers over 16 KiB',
    request('GET /document', [`A: ${'x'.repeat(17_000)}`]),
    431,
    'headers_too_large',
  ],
  ['a target over 16 KiB', get(`/items/${'x'.repeat(17_000)}`), 431, 'headers_too_large'],
  [
    '1,500 headers',
    request(
      'GET /document',
      Array.from({ length: 1_500 }, () => 'A: b'),
    ),
    431,
    'headers_too_large',
  ],
  [
    'a Host hidden behind 2,500 headers',
    request('GET /document', [...Array.from({ length: 2_500 }, () => 'A: '), 'Host: y']),
    431,
    'headers_too_large',
  ],
]

const routing: HostileCase[] = [
  ['a key in the path', get(`/items/svc_live_${'a'.repeat(36)}`), 400, 'api_key_in_url'],
  ['a test key in the query', get(`/document?k=svc_test_${'a'.repeat(36)}`), 400, 'api_key_in_url'],
  ['a path that is not there', get('/nothing'), 404, 'not_found'],
  ['a slash too many', get('/document/'), 404, 'not_found'],
  ['a path in other letters', get('/Document'), 404, 'not_found'],
  ['two slashes', get('//document'), 404, 'not_found'],
  ['dots', get('/x/../document'), 404, 'not_found'],
  ['an unknown method of a path that is not there', request('PROPFIND /nothing'), 404, 'not_found'],
  ['DELETE', request('DELETE /document'), 405, 'method_not_allowed'],
  ['PROPFIND', request('PROPFIND /document'), 405, 'method_not_allowed'],
  ['TRACE', request('TRACE /document'), 405, 'method_not_allowed'],
  ['POST to a document', post('/document', '{}'), 405, 'method_not_allowed'],
  ['GET of what only takes POST', get('/echo'), 405, 'method_not_allowed'],
  ['HEAD-like letters', request('QUERY /document', [json]), 405, 'method_not_allowed'],
  [
    'a malformed version',
    request('GET /document', ['Service-Version: soon']),
    400,
    'unsupported_version',
  ],
  [
    'another version',
    request('GET /document', ['Service-Version: 2026-05-15']),
    400,
    'unsupported_version',
  ],
  ['an empty version', request('GET /document', ['Service-Version:']), 400, 'unsupported_version'],
  [
    'two versions',
    request('GET /document', ['Service-Version: 2026-05-14', 'Service-Version: 2026-05-14']),
    400,
    'unsupported_version',
  ],
  ['a path parameter without its form', get('/items/A'), 400, 'invalid_parameter'],
  ['an empty path parameter', get('/items/'), 400, 'invalid_parameter'],
  [
    'a path parameter of 15,000 characters',
    get(`/items/${'9'.repeat(15_000)}`),
    400,
    'invalid_parameter',
  ],
  ['a query parameter without its form', get('/items/a?digest=XYZ'), 400, 'invalid_parameter'],
  ['an empty query parameter', get('/items/a?digest='), 400, 'invalid_parameter'],
  [
    'a query parameter that comes twice',
    get('/items/a?digest=00ff&digest=00ff'),
    400,
    'invalid_parameter',
  ],
  ['an unknown parameter that comes twice', get('/items/a?x=1&%78=2'), 400, 'invalid_parameter'],
  ['a malformed escape in the query', get('/document?x=%'), 400, 'invalid_parameter'],
  ['a query that is not UTF-8', get('/document?x=%fe'), 400, 'invalid_parameter'],
  ['a NUL in the query', get('/document?x=%00'), 400, 'invalid_parameter'],
  ['a surrogate in the query', get('/document?x=%ed%a0%80'), 400, 'invalid_parameter'],
  ['a failing endpoint', get('/broken'), 500, 'internal_error'],
  ['an endpoint whose database is away', get('/away'), 503, 'unavailable'],
]

const type = (text: string): Buffer => post('/echo', '{}', [`Content-Type: ${text}`])
const mediaTypes: HostileCase[] = [
  [
    'no media type',
    request('POST /echo', ['Content-Length: 2'], '{}'),
    415,
    'unsupported_media_type',
  ],
  ...[
    '',
    'text/plain',
    'application/jsonp',
    'application/json2',
    'xapplication/json',
    'application/json, application/json',
    'application/json charset=utf-8',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=utf-8',
    'application/json; charset="utf-8',
    'application/json; =',
    'application /json',
    'multipart/form-data; boundary=application/json',
    '*/*',
    'application/*',
  ].map((text): HostileCase => [`media type ${text}`, type(text), 415, 'unsupported_media_type']),
  ...['gzip', 'br', 'identity, gzip', 'x'].map(
    (coding): HostileCase => [
      `Content-Encoding ${coding}`,
      post('/echo', '{}', [`Content-Encoding: ${coding}`]),
      415,
      'unsupported_media_type',
    ],
  ),
]

const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const bodies: HostileCase[] = [
  ['an empty body', post('/echo', ''), 400, 'invalid_json'],
  ['no body at all', request('POST /echo', [json]), 400, 'invalid_json'],
  ['text', post('/echo', 'hello'), 400, 'invalid_json'],
  ['a cut object', post('/echo', '{"a":'), 400, 'invalid_json'],
  ['two values', post('/echo', '{}{}'), 400, 'invalid_json'],
  ['a comment', post('/echo', '{}//'), 400, 'invalid_json'],
  ['NaN', post('/echo', '{"a":NaN}'), 400, 'invalid_json'],
  ['null', post('/echo', 'null'), 400, 'invalid_json'],
  ['a list', post('/echo', '["x"]'), 400, 'invalid_json'],
  ['a text', post('/echo', '"{}"'), 400, 'invalid_json'],
  ['a number', post('/echo', '1'), 400, 'invalid_json'],
  ['a byte order mark', post('/echo', '\ufeff{}'), 400, 'invalid_json'],
  ['UTF-16', post('/echo', Buffer.from('{}', 'utf16le')), 400, 'invalid_json'],
  ['a raw NUL', post('/echo', '{"a":"\0"}'), 400, 'invalid_json'],
  ['bad UTF-8', post('/echo', Buffer.from('7b2261223a22ff227d', 'hex')), 400, 'invalid_json'],
  [
    'an encoded surrogate',
    post('/echo', Buffer.from('7b2261223a22eda080227d', 'hex')),
    400,
    'invalid_json',
  ],
  ['a list 131,072 deep', post('/echo', deep(131_072)), 400, 'invalid_json'],
  ['duplicate names where they may not be', post('/strict', '{"a":1,"a":2}'), 400, 'invalid_json'],
  ['__proto__ where it may not be', post('/strict', '{"__proto__":{}}'), 400, 'invalid_json'],
  ['a lone surrogate where it may not be', post('/strict', '{"a":"\\ud800"}'), 400, 'invalid_json'],
  ['an escaped NUL where it may not be', post('/strict', '{"a":"\\u0000"}'), 400, 'invalid_json'],
  ['1e400 where it may not be', post('/strict', '{"a":1e400}'), 400, 'invalid_json'],
  ['2^53+1 where it may not be', post('/strict', '{"a":9007199254740993}'), 400, 'invalid_json'],
  ['depth 33 where it may not be', post('/strict', `{"a":${deep(32)}}`), 400, 'invalid_json'],
  [
    'a key while there are none',
    post('/echo', '{}', ['Authorization: Bearer svc_live_x']),
    401,
    'invalid_api_key',
  ],
  [
    'an Authorization of another kind',
    post('/echo', '{}', ['Authorization: Basic eDp5']),
    401,
    'invalid_api_key',
  ],
  ['an empty Authorization', post('/echo', '{}', ['Authorization:']), 401, 'invalid_api_key'],
  ['262,145 bytes', post('/echo', `{${' '.repeat(262_143)}}`), 413, 'payload_too_large'],
  [
    'a length of 10 GB',
    request('POST /echo', [json, 'Content-Length: 10000000000'], '{'),
    413,
    'payload_too_large',
  ],
  [
    '32,769 bytes where 32,768 are the limit',
    post('/strict', `{${' '.repeat(32_767)}}`),
    413,
    'payload_too_large',
  ],
]

/** Every case of the tables. */
export const hostileCases = [...framing, ...routing, ...mediaTypes, ...bodies]

let callers = 0
/** Gives each request another client address, so that none exceeds a limit. */
export function fromElsewhere(bytes: string | Buffer): Buffer {
  const text = Buffer.from(bytes)
  const end = text.indexOf('\r\nHost: localhost\r\n')
  if (end === -1) return text
  callers++
  const header = `\r\nX-Forwarded-For: 10.1.${callers >> 8}.${callers & 255}`
  return Buffer.concat([text.subarray(0, end), Buffer.from(header), text.subarray(end)])
}
