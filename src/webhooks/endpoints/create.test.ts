import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { strangerRules } from '../../platform/egress/rules.ts'
import { eventTypeNames } from '../events/event-types.ts'
import { readEndpointRequest, requestFingerprint } from './create.ts'

const rules = strangerRules()
const good = { url: 'https://hooks.example.com/in', events: ['score.updated'] }

function accepted(body: object) {
  const read = readEndpointRequest(body, rules)
  assert.ok('request' in read, JSON.stringify(read))
  return read.request
}

function fault(body: unknown): string {
  const read = readEndpointRequest(body, rules)
  assert.ok('fault' in read, `${JSON.stringify(body)} was accepted`)
  return read.fault
}

const urlOf = (length: number) => `https://hooks.example.com/${'a'.repeat(length - 26)}`

test('a value at its limit is accepted, and one above is rejected', () => {
  assert.equal(accepted({ ...good, url: urlOf(2_048) }).url.length, 2_048)
  assert.match(fault({ ...good, url: urlOf(2_049) }), /^url must be .* 2048 characters/)
  assert.equal(accepted({ ...good, description: '😀'.repeat(120) }).description, '😀'.repeat(120))
  assert.match(fault({ ...good, description: '😀'.repeat(121) }), /^description must be/)
  assert.deepEqual(accepted({ ...good, events: eventTypeNames }).eventTypes, eventTypeNames)
  assert.match(fault({ ...good, events: [] }), /^events must be 1 to 6/)
  assert.match(fault({ ...good, events: [...eventTypeNames, 'score.updated'] }), /^events/)
})

test('a description may be any text within its length, and is not repaired', () => {
  for (const description of ['', 'Löhne\n給与', '\u202eagain', '\u2067שלום\u2069'])
    assert.equal(accepted({ ...good, description }).description, description)
})

test('an unknown or mistyped field is rejected, and no value is coerced', () => {
  for (const [body, says] of [
    [{ events: ['score.updated'] }, /^url is missing/],
    [{ url: good.url }, /^events is missing/],
    [{ ...good, secret: 'x' }, /^secret is not a known field/],
    [{ ...good, events: 'score.updated' }, /^events must be/],
    [{ ...good, events: ['score.updated', 'score.updated'] }, /^events must be/],
    [{ ...good, events: ['score.deleted'] }, /^events\.0 must be/],
    [{ ...good, events: ['Score.updated'] }, /^events\.0 must be/],
    [{ ...good, events: [1] }, /^events\.0 must be/],
    [{ ...good, events: null }, /^events must be/],
    [{ ...good, description: null }, /^description must be/],
    [{ ...good, description: 1 }, /^description must be/],
    [{ ...good, url: 1 }, /^url must be/],
    [{ ...good, url: [good.url] }, /^url must be/],
  ] as const)
    assert.match(fault(body), says)
})

test('a URL of a private network, or with a disguised host, is rejected', () => {
  for (const url of [
    'http://hooks.example.com/in',
    'HTTPS://hooks.example.com/in',
    'https:hooks.example.com',
    'https:\\\\hooks.example.com',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::127.0.0.1]/',
    'https://localhost/',
    'https://localhost./',
    'https://db.internal/',
    'https://intranet/',
    'https://user@hooks.example.com/',
    'https://hooks.example.com:8443/',
    'https://hooks.example.com/#part',
    'https://hooks.example.com/a b',
    'https://hooks.example.com/\t',
    'https://',
    '',
  ])
    assert.match(fault({ ...good, url }), /^url (must|is not a URL)/, url)
})

test('a URL that is no URI is rejected and not repaired', () => {
  assert.match(fault({ ...good, url: 'https://hooks.example.com/{id}|x' }), /^url must be a URI/)
  assert.match(fault({ ...good, url: 'https://hooks.example.com/é' }), /^url must be a URI/)
  assert.equal(
    accepted({ ...good, url: 'https://Hooks.example.com' }).url,
    'https://hooks.example.com/',
  )
})

test('equivalent requests have one fingerprint, in any order of members and events', () => {
  const print = (body: object) => requestFingerprint(accepted(body)).toString('hex')
  const body = { ...good, description: 'Payroll' }
  fc.assert(
    fc.property(
      fc.shuffledSubarray([...eventTypeNames], { minLength: 1 }),
      fc.shuffledSubarray(['url', 'events', 'description'], { minLength: 3 }),
      (events, order) => {
        const sent: Record<string, unknown> = { ...body, events }
        const shuffled = Object.fromEntries(order.map((name) => [name, sent[name]]))
        assert.equal(print(shuffled), print({ ...sent, events: [...events].sort() }))
      },
    ),
  )
  assert.equal(print({ ...good, url: 'https://HOOKS.example.com:443/in' }), print(good))
  const prints = [
    good,
    body,
    { ...good, description: '' },
    { ...good, url: 'https://hooks.example.com/in/' },
    { ...good, events: ['score.revised'] },
  ].map(print)
  assert.equal(new Set(prints).size, prints.length)
})
