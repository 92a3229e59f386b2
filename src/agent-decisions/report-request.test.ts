import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { readReportRequest, reportFingerprint } from './report-request.ts'
import { decisions, outcomes } from './schema.ts'

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

test('what is left out has its default', () => {
  assert.deepEqual(accepted(good), {
    subject: candidate,
    decision: 'shortlisted',
    outcome: 'pending',
    agentName: null,
    agentVersion: null,
    jobRef: null,
    reasonCodes: [],
    notes: null,
    metadata: {},
  })
})

test('what an account writes is any text of its length: the specification bounds nothing else, and nothing is repaired', () => {
  for (const text of ['', 'Zoë 田中', '\u202eagain', '\u2067שלום\u2069']) {
    const words = { agentName: text, agentVersion: text, jobRef: text, notes: text }
    assert.partialDeepStrictEqual(accepted({ ...good, ...words }), words)
  }
})

test('every decision and outcome of the specification is accepted, and no other', () => {
  for (const decision of decisions) accepted({ ...good, decision })
  for (const outcome of outcomes) accepted({ ...good, outcome })
  for (const decision of ['Hired', 'hired ', '', null, 1, undefined])
    assert.match(fault({ ...good, decision }), /^decision /)
  for (const outcome of ['Pending', '', null, 0])
    assert.match(fault({ ...good, outcome }), /^outcome must be one of/)
})

test('a username has 3 to 30 characters in the form of the specification; its @ is dropped', () => {
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

test('a score id has 64 hexadecimal characters of either case, and is kept in lower case', () => {
  assert.deepEqual(accepted(score(scoreId.toUpperCase())).subject, { kind: 'score', scoreId })
  for (const id of [scoreId.slice(1), `${scoreId}0`, scoreId.replace('a', 'g'), '', 1, null])
    assert.match(fault(score(id)), /^subject/)
})

test('a subject has exactly one of the two shapes', () => {
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

test('each limit of a text is accepted, counted in characters, and one more is refused', () => {
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

test('reason codes: ten different ones of 1 to 64 characters, and not one more', () => {
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

test('metadata is any object and is kept as it is; anything else is refused', () => {
  const metadata = { b: 1, a: [null, { '': 'x' }], 'c"\\': true }
  assert.deepEqual(accepted({ ...good, metadata }).metadata, metadata)
  for (const metadata of [null, [], 'x', 1, true])
    assert.match(fault({ ...good, metadata }), /^metadata must be an object/)
})

test('metadata takes the body to 32 levels and no further', () => {
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

test('an unknown field is refused by its name', () => {
  for (const name of ['workerId', 'userId', 'Decision', ''])
    assert.match(fault({ ...good, [name]: 'x' }), /is not a known field/)
  assert.match(fault({ decision: 'hired' }), /^subject is missing/)
  assert.match(fault({ subject: candidate }), /^decision is missing/)
})

const full = {
  ...good,
  outcome: 'positive',
  agentName: 'Scout',
  reasonCodes: ['b', 'a'],
  metadata: { run: 1, tags: ['x', 'y'] },
}
const print = (body: object) => reportFingerprint(accepted(body)).toString('hex')

test('reports that say the same have one fingerprint', () => {
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
  assert.equal(print({ ...good, outcome: 'pending', reasonCodes: [], metadata: {} }), print(good))
})

test('reports that say different things have different fingerprints', () => {
  const different = [
    full,
    good,
    score(scoreId),
    { ...full, decision: 'rejected' },
    { ...full, outcome: 'negative' },
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
