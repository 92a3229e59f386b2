import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { badgeBytesMax, readBadge } from '../assets/badge-file.ts'
import { nothingPublic, readInput, readName } from './verify-input.ts'

const publicUrl = 'https://scores.example.org'
const context = { publicUrls: [publicUrl, 'https://old.example.org'] }
const read = (text: string) => readInput(text, context)
const credential = JSON.stringify({ type: ['VerifiableCredential'], a: [{ b: 'x } y' }] })
const id = 'f00d'.repeat(16)

test('input: links, handles and names of this service name a person or a score', () => {
  for (const text of [
    '@ada-l',
    'ada-l',
    ' @Ada-L ',
    `${publicUrl}/u/ada-l`,
    'scores.example.org/u/ada-l',
  ])
    assert.deepEqual(read(text), { kind: 'person', username: 'ada-l', of: '@ada-l' }, text)
  assert.equal(read('https://old.example.org/u/ada-l/badge.svg').kind, 'person')
  for (const start of ['', '@', '%40'])
    assert.equal(read(`${publicUrl}/api/v1/candidates/${start}ada-l`).kind, 'person')
  for (const end of ['', '/credential', '/credential?proof=native'])
    assert.deepEqual(read(`${publicUrl}/api/v1/scores/${id}${end}`), {
      kind: 'score',
      scoreId: id,
      of: id,
    })
  for (const text of [id, id.toUpperCase()])
    assert.deepEqual(readName(text, context), { kind: 'score', scoreId: id, of: id })
})

test('input: a document is one from text, a link, a badge and a message', () => {
  const packed = deflateRawSync(credential).toString('base64url')
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:ob="https://purl.imsglobal.org/ob/v3p0"><ob:credential><![CDATA[${credential}]]></ob:credential></svg>`
  for (const text of [credential, `https://elsewhere.example/verify#z=${packed}`, svg])
    assert.deepEqual(read(text), { kind: 'document', text: credential })
  assert.deepEqual(read(`Dear all,\n${credential}\nBest, Ada`), {
    kind: 'document',
    text: credential,
    note: 'Taken from the message around it.',
  })
})

test('input: each thing that cannot be checked is one sentence', () => {
  const token = 'a'.repeat(64)
  assert.equal(read(`${publicUrl}/standard/v1/score-vc-status/${token}`).kind, 'status')
  for (const [text, sentence] of [
    [`https://evil.example/standard/v1/score-vc-status/${token}`, /^This link belongs to evil/],
    ['https://www.credly.com/badges/1', /^This link belongs to www\.credly\.com\. This page/],
    [`${publicUrl}/docs`, /^This page of scores\.example\.org leads to no credential/],
    [credential.slice(0, -3), /^The end is missing: 3 brackets are open\./],
    [credential.slice(0, -1), /^The end is missing: 1 bracket is open\./],
    ['{“a”: 1}', /^The quotes were changed/],
    ['%PDF-1.7 …', /^A PDF cannot be checked/],
    ['<svg></svg>', /^This picture holds no credential/],
    ['a\u0000b', /^This is not a text/],
    ['hello there', /^This is no link/],
    [`${publicUrl}/verify#z=AAAA`, /^The link holds no credential/],
    [`{"a":"${'x'.repeat(262_144)}"}`, /^The document has 262,152 bytes/],
  ] as const) {
    const input = read(text)
    assert.equal(input.kind, 'problem', text.slice(0, 60))
    assert.match(input.kind === 'problem' ? input.message : '', sentence)
  }
  for (const name of [credential, `${publicUrl}/standard/v1/score-vc-status/${token}`])
    assert.deepEqual(readName(name, context), { kind: 'problem', message: nothingPublic })
})

test('badge: the credential of a PNG stands in its iTXt chunk, and a damaged picture has none', () => {
  const chunk = (name: string, data: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    return Buffer.concat([length, Buffer.from(name), data, Buffer.alloc(4)])
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const baked = chunk('iTXt', Buffer.from(`openbadgecredential\0\0\0\0\0${credential}`))
  const picture = Buffer.concat([signature, chunk('IHDR', Buffer.alloc(13)), baked])
  assert.deepEqual(readBadge(picture), { kind: 'credential', text: credential })
  for (let end = 8; end < picture.length - 4; end++)
    assert.equal(readBadge(picture.subarray(0, end)).kind, 'picture')
  assert.equal(readBadge(Buffer.from('{}')).kind, 'other')
})

test('badge: a picture of 1 MiB is read in linear time, whatever it holds', () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const namespace = 'xmlns:ob="https://purl.imsglobal.org/ob/v3p0"'
  const filled = (start: string, part: string) =>
    Buffer.from(start + part.repeat(Math.ceil(badgeBytesMax / part.length))).subarray(
      0,
      badgeBytesMax,
    )
  const pictures = [
    filled('<svg ', 'xmlns:a'),
    filled('<svg xmlns:', 'a'),
    filled(`<svg ${namespace}><ob:credential>`, ']]> '),
    filled(`<svg ${namespace}>`, '<ob:credential>'),
    filled('<svg>', ' '),
    // 87,000 chunks without data, and texts that have no end.
    Buffer.concat([png, Buffer.alloc(badgeBytesMax - 8)]),
    Buffer.concat([png, filled('', '\0\0\0\u0004iTXtopenbadgecredential\0')]),
  ]
  const began = performance.now()
  for (const picture of pictures) assert.equal(readBadge(picture).kind, 'picture')
  assert.ok(performance.now() - began < 3_000, 'quadratic time would be minutes')
})

test('input: a link to this page names a person or a score, and no further link', () => {
  assert.equal(read(`${publicUrl}/verify?of=@ada-l`).kind, 'person')
  assert.equal(read(`${publicUrl}/verify?of=${id}`).kind, 'score')
  const nested = `${publicUrl}/verify?of=`.repeat(3_000)
  assert.deepEqual(read(`${nested}@ada-l`), { kind: 'problem', message: nothingPublic })
})
