import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { readReportRequest, reportFingerprint } from './report-request.ts'
import { decisions, outcomes, usualOutcome } from './schema.ts'

const [, positive, negative] = outcomes

const scoreId = 'ab'.repeat(32)
const candidate = { kind: 'candidate', username: 'ada-lovelace' }
const good = { subject: candidate, decision: 'shortlisted' }

function accepted(body: object) {
  const read = readReportRequest(body)
  assert.ok('content' in read, JSON.stringify(read))
  return read.content
}

function fault(body: unknown): string {
  const read = readReportRequest(body)
  assert.ok('fault' in read, `${JSON.stringify(body)} was accepted`)
  return read.fault
}

const user = (username: string) => ({ ...good, subject: { kind: 'candidate', username } })
const score = (id: unknown) => ({ ...good, subject: { kind: 'score', scoreId: id } })

test('an absent field has its default', () => {
  assert.deepEqual(accepted(good), {
    subject: candidate,
    decision: 'shortlisted',
    outcome: usualOutcome,
    agentName: null,
    agentVersion: null,
    jobRef: null,
    reasonCodes: [],
    notes: null,
    metadata: {},
  })
})

test('a text field may be any text within its length, and is not repaired', () => {
  for (const text of ['', 'Zoë 田中', '\u202eagain', '\u2067שלום\u2069']) {
    const words = { agentName: text, agentVersion: text, jobRef: text, notes: text }
    assert.partialDeepStrictEqual(accepted({ ...good, ...words }), words)
  }
})

test('only the listed decisions and outcomes are accepted', () => {
  for (const decision of decisions) accepted({ ...good, decision })
  for (const outcome of outcomes) accepted({ ...good, outcome })
  for (const decision of ['Hired', 'hired ', '', null, 1, undefined])
    assert.match(fault({ ...good, decision }), /^decision /)
  for (const outcome of ['Pending', '', null, 0])
    assert.match(fault({ ...good, outcome }), /^outcome must be one of/)
})

test('a username has 3 to 30 characters; a leading @ is removed', () => {
  for (const name of ['abc', 'a-b', 'a_b', '0x0', 'a'.repeat(30), `a${'-'.repeat(28)}a`]) {
    assert.deepEqual(accepted(user(name)).subject, { kind: 'candidate', username: name })
    assert.deepEqual(accepted(user(`@${name}`)).subject, { kind: 'candidate', username: name })
  }
  for (const name of [
    'ab',
    'a'.repeat(31),
    `@${'a'.repeat(31)}`,
    '@@abc',
    'Abc',
    '-bc',
    'ab_',
    'a.b',
    'a b',
    'abc\n',
    'аbc',
    '',
    '@',
  ])
    assert.match(fault(user(name)), /^subject/, name)
})

test('a score id has 64 hexadecimal characters in either case, and is stored in lower case', () => {
  assert.deepEqual(accepted(score(scoreId.toUpperCase())).subject, { kind: 'score', scoreId })
  for (const id of [scoreId.slice(1), `${scoreId}0`, scoreId.replace('a', 'g'), '', 1, null])
    assert.match(fault(score(id)), /^subject/)
})

test('a subject has exactly one of two shapes', () => {
  for (const subject of [
    undefined,
    null,
    'ada',
    [],
    {},
    { kind: 'candidate' },
    { username: 'ada-lovelace' },
    { kind: 'score', username: 'ada-lovelace' },
    { kind: 'candidate', scoreId },
    { ...candidate, scoreId },
    { kind: 'worker', workerId: 'x' },
    { ...candidate, extra: 1 },
  ])
    assert.match(fault({ ...good, subject }), /^subject/, JSON.stringify(subject))
})

test('a text at its limit of characters is accepted, and one above is rejected', () => {
  for (const [field, max] of [
    ['agentName', 80],
    ['agentVersion', 80],
    ['jobRef', 120],
    ['notes', 1_000],
  ] as const) {
    assert.equal(accepted({ ...good, [field]: '😀'.repeat(max) })[field], '😀'.repeat(max))
    assert.equal(accepted({ ...good, [field]: '' })[field], '')
    const says = new RegExp(`^${field} must be text of at most ${max}`)
    for (const value of ['😀'.repeat(max + 1), null, 1, ['x']])
      assert.match(fault({ ...good, [field]: value }), says)
  }
})

test('at most ten different reason codes of 1 to 64 characters are accepted', () => {
  const codes = (count: number) => Array.from({ length: count }, (_, i) => `code:${i}`)
  assert.deepEqual(accepted({ ...good, reasonCodes: codes(10) }).reasonCodes, codes(10))
  accepted({ ...good, reasonCodes: [] })
  accepted({ ...good, reasonCodes: ['a', 'a'.repeat(64), 'a_b.c:d-e', '0'] })
  for (const reasonCodes of [
    codes(11),
    ['a', 'a'],
    [''],
    ['a'.repeat(65)],
    ['A'],
    ['a b'],
    ['a\n'],
    ['é'],
    [1],
    [null],
    'a',
    null,
    {},
  ])
    assert.match(fault({ ...good, reasonCodes }), /^reasonCodes(\.\d+)? must be at most 10/)
})

test('metadata may be any object and is stored unchanged; any other value is rejected', () => {
  const metadata = { b: 1, a: [null, { '': 'x' }], 'c"\\': true }
  assert.deepEqual(accepted({ ...good, metadata }).metadata, metadata)
  for (const metadata of [null, [], 'x', 1, true])
    assert.match(fault({ ...good, metadata }), /^metadata must be an object/)
})

test('metadata may nest the body to 32 levels', () => {
  const body = (levels: number) => {
    const nested = `${'{"a":'.repeat(levels - 1)}1${'}'.repeat(levels - 1)}`
    const text = `{"subject":${JSON.stringify(candidate)},"decision":"hired","metadata":${nested}}`
    return parseStrictJson(Buffer.from(text))
  }
  const deepest = body(32)
  assert.equal(deepest.kind, 'value')
  if (deepest.kind === 'value') accepted(deepest.value as object)
  assert.equal(body(33).kind, 'ambiguous')
})

test('an unknown field is rejected and named', () => {
  for (const name of ['workerId', 'userId', 'Decision', ''])
    assert.match(fault({ ...good, [name]: 'x' }), /is not a known field/)
  assert.match(fault({ decision: 'hired' }), /^subject is missing/)
  assert.match(fault({ subject: candidate }), /^decision is missing/)
})

const full = {
  ...good,
  outcome: positive,
  agentName: 'Scout',
  reasonCodes: ['b', 'a'],
  metadata: { run: 1, tags: ['x', 'y'] },
}
const print = (body: object) => reportFingerprint(accepted(body)).toString('hex')

test('equivalent reports have one fingerprint', () => {
  fc.assert(
    fc.property(
      fc.shuffledSubarray(Object.keys(full), { minLength: Object.keys(full).length }),
      (names) => {
        const members: Record<string, unknown> = full
        const shuffled = Object.fromEntries(names.map((name) => [name, members[name]]))
        assert.equal(print(shuffled), print(full))
      },
    ),
  )
  assert.equal(print({ ...full, reasonCodes: ['a', 'b'] }), print(full))
  assert.equal(print({ ...full, metadata: { tags: ['x', 'y'], run: 1.0 } }), print(full))
  assert.equal(
    print({ ...full, subject: { username: '@ada-lovelace', kind: 'candidate' } }),
    print(full),
  )
  assert.equal(print(score(scoreId.toUpperCase())), print(score(scoreId)))
  assert.equal(
    print({ ...good, outcome: usualOutcome, reasonCodes: [], metadata: {} }),
    print(good),
  )
})

test('different reports have different fingerprints', () => {
  const different = [
    full,
    good,
    score(scoreId),
    { ...full, decision: 'rejected' },
    { ...full, outcome: negative },
    { ...full, agentName: 'scout' },
    { ...full, agentVersion: 'Scout' },
    { ...full, jobRef: '' },
    { ...full, notes: '' },
    { ...full, reasonCodes: ['a'] },
    { ...full, metadata: { run: '1', tags: ['x', 'y'] } },
    { ...full, metadata: { run: 1, tags: ['y', 'x'] } },
  ]
  assert.equal(new Set(different.map(print)).size, different.length)
})
