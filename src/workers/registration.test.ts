import assert from 'node:assert/strict'
import { test } from 'node:test'
import { line, now, publicLine } from '../../test/support/build/workers.ts'
import fc from '../../test/support/oracle/fc.ts'
import { dayOf, instantOf } from '../platform/clock.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { readRegistration } from './registration.ts'

function faultIn(over: Record<string, unknown>): string | null {
  const read = readRegistration(line(over), now)
  return 'refused' in read ? `${read.refused.field}: ${read.refused.reason}` : null
}

const usernameForm =
  'username: must be 3 to 30 of a-z 0-9 _ - (lowercase, no spaces), a letter or digit at both ends'

test('usernames are ASCII, 3 to 30 characters, alphanumeric at both ends, and never normalised into validity', () => {
  for (const username of ['abc', 'a-b', '0_0', 'a'.repeat(30), 'searching', 'a--_b'])
    assert.equal(faultIn({ username }), null, username)
  for (const username of [
    'ab',
    'a'.repeat(31),
    '-ab',
    'ab-',
    '_ab',
    'Ada',
    'a b c',
    'adа', // a Cyrillic letter
    'a\u200bda',
    'ａｄａ',
    'ada\n',
    '@ada',
    'a.da',
    '',
    3,
    null,
  ])
    assert.equal(faultIn({ username }), usernameForm, JSON.stringify(username))
  assert.equal(faultIn({ username: 'search' }), 'username: search is reserved')
})

test('texts are accepted up to each limit in code points, and refused one above it', () => {
  const limits = { displayName: 80, title: 120, bio: 2_000 } as const
  for (const [field, max] of Object.entries(limits))
    for (const letter of ['x', '語', '😀']) {
      assert.equal(faultIn({ [field]: letter.repeat(max) }), null, field)
      const tooLong = `${field}: is longer than ${max} characters`
      assert.equal(faultIn({ [field]: letter.repeat(max + 1) }), tooLong)
    }
})

test('texts: each kind of forbidden character has its own message', () => {
  const reasons: [string, string][] = [
    ['', 'holds nothing that can be seen'],
    ['   ', 'holds nothing that can be seen'],
    ['\u200b\u2060', 'holds nothing that can be seen'],
    [' Ada', 'starts or ends with white space'],
    ['Ada\u00a0', 'starts or ends with white space'],
    ['A\0da', 'holds a NUL'],
    ['A\ud800da', 'holds a lone surrogate'],
    ['A\udc00', 'holds a lone surrogate'],
    ['A\u001bda', 'holds a control character'],
    ['A\u009bda', 'holds a control character'],
    ['A\tda', 'holds a control character'],
    ['A\nda', 'must be one line'],
    ['A\u2028da', 'must be one line'],
    ['A\u202eda', 'holds a character that reorders the text around it'],
    ['A\u2066da', 'holds a character that reorders the text around it'],
  ]
  for (const [displayName, reason] of reasons)
    assert.equal(faultIn({ displayName }), `displayName: ${reason}`, JSON.stringify(displayName))
  for (const displayName of ['Zoë', 'Nguyễn', '山田 太郎', 'محمد', 'O’Neil', '👩‍🔬', 'می‌خواهم'])
    assert.equal(faultIn({ displayName }), null, displayName)
  assert.equal(faultIn({ bio: 'two\nlines' }), null)
  assert.equal(faultIn({ bio: 'carriage\r\nreturn' }), 'bio: holds a control character')
  assert.equal(
    faultIn({ displayName: null }),
    'displayName: must be a string of 1 to 80 characters',
  )
  assert.equal(faultIn({ title: null, bio: null, avatarUrl: null }), null)
})

test('an avatar is an https URL without user, password or characters that a URL must encode', () => {
  const form = 'avatarUrl: '
  assert.equal(faultIn({ avatarUrl: 'https://img.example.org/a.png?s=1#x' }), null)
  const longest = `https://e.org/${'a'.repeat(2_048 - 14)}`
  assert.equal(faultIn({ avatarUrl: longest }), null)
  assert.equal(faultIn({ avatarUrl: `${longest}a` }), `${form}is longer than 2048 characters`)
  for (const avatarUrl of [
    'http://e.org/a',
    'javascript:alert(1)',
    'data:,x',
    '//e.org',
    'HTTPS://e.org',
    '',
  ])
    assert.equal(faultIn({ avatarUrl }), `${form}must start with https://`, avatarUrl)
  for (const avatarUrl of ['https://e.org/a b', 'https://e.org/"x', 'https://é.org'])
    assert.equal(
      faultIn({ avatarUrl }),
      `${form}holds a character that a URL must encode`,
      avatarUrl,
    )
  assert.equal(
    faultIn({ avatarUrl: 'https://u:p@e.org/' }),
    `${form}must not hold a user or password`,
  )
  assert.equal(faultIn({ avatarUrl: 'https://' }), `${form}is not a URL`)
  assert.equal(faultIn({ avatarUrl: 'https://[::1' }), `${form}is not a URL`)
})

test('a month is YYYY-MM and not in the future', () => {
  for (const memberSince of ['2026-05', '1999-12', '2026-01'])
    assert.equal(faultIn({ memberSince }), null, memberSince)
  for (const memberSince of ['2026-5', '2026-13', '2026-00', '0999-01', '2026-05-01', 'May 2026'])
    assert.equal(faultIn({ memberSince }), 'memberSince: must be a month, as YYYY-MM', memberSince)
  assert.equal(faultIn({ memberSince: '2026-06' }), 'memberSince: must not be in the future')
})

test('skills: at most 100, each once after the folding of search, with a level of the rubric', () => {
  const skills = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ name: `skill ${i}` }))
  assert.equal(faultIn({ skills: skills(100) }), null)
  assert.equal(faultIn({ skills: skills(101) }), 'skills: must be a list of at most 100 skills')
  for (const other of ['go', 'Ｇｏ', 'G\u00ado'])
    assert.equal(
      faultIn({ skills: [{ name: 'Go' }, { name: other }] }),
      'skills.1.name: names a skill twice',
    )
  assert.equal(
    faultIn({ skills: [{ name: 'STRAẞE' }, { name: 'Strasse' }] }),
    'skills.1.name: names a skill twice',
  )
  assert.equal(faultIn({ skills: [{ name: 'Zoë' }, { name: 'Zoe' }] }), null)
  assert.equal(faultIn({ skills: [{ name: 'Go', level: 'expert', verified: true }] }), null)
  assert.equal(faultIn({ skills: [{ name: 'Go', level: null }] }), null)
  assert.equal(
    faultIn({ skills: [{ name: 'Go', level: 'guru' }] }),
    'skills.0.level: must be null or one of novice, intermediate, advanced, expert',
  )
  assert.equal(
    faultIn({ skills: [{ name: 'Go', verified: 1 }] }),
    'skills.0.verified: must be true or false',
  )
  assert.equal(faultIn({ skills: [{}] }), 'skills.0.name: is missing')
  assert.equal(
    faultIn({ skills: [{ name: 'x'.repeat(81) }] }),
    'skills.0.name: is longer than 80 characters',
  )
  assert.equal(
    faultIn({ skills: [{ name: 'Go', years: 3 }] }),
    'skills.0.years: is not a known field',
  )
})

test('consents name known permissions, each once, with the version of the text', () => {
  const consents = (...names: unknown[]) => ({
    consents: names.map((permission) => ({ permission, textVersion: '1' })),
  })
  assert.equal(faultIn(consents('public_profile', 'search_listing', 'score_sharing')), null)
  assert.equal(
    faultIn(consents('email')),
    'consents.0.permission: must be one of public_profile, search_listing, score_sharing',
  )
  assert.equal(
    faultIn(consents('public_profile', 'public_profile')),
    'consents.1.permission: is named twice',
  )
  assert.equal(
    faultIn({ consents: [{ permission: 'public_profile' }] }),
    'consents.0.textVersion: is missing',
  )
})

test('dates have a zone and exist; terms are not from the future, and an identity check does not end in the past', () => {
  const terms = (acceptedAt: unknown) => faultIn({ terms: { version: '1', acceptedAt } })
  assert.equal(terms('2026-05-14T09:00:00Z'), null)
  assert.equal(terms('2026-05-14T11:00:00.5+02:00'), 'terms.acceptedAt: must not be in the future')
  for (const text of [
    '2026-05-01',
    '2026-02-30T00:00:00Z',
    '2026-05-01T00:00:00',
    '2026-05-01T25:00:00Z',
    'yesterday',
    5,
  ])
    assert.equal(terms(text), 'terms.acceptedAt: must be a date-time with a zone', String(text))
  const identity = (verifiedUntil: unknown) => faultIn({ identity: { verifiedUntil } })
  assert.equal(identity('2026-05-14T09:00:01Z'), null)
  assert.equal(identity('2026-05-14T09:00:00Z'), 'identity.verifiedUntil: must be in the future')
  assert.equal(
    identity('2036-05-14T09:00:01Z'),
    'identity.verifiedUntil: must be at most 10 years ahead',
  )
})

test('external ids have 1 to 200 characters; unknown and missing fields are named', () => {
  assert.equal(faultIn({ externalId: 'x'.repeat(200) }), null)
  assert.equal(
    faultIn({ externalId: 'x'.repeat(201) }),
    'externalId: must be a string of 1 to 200 characters',
  )
  assert.equal(faultIn({ externalId: '' }), 'externalId: must be a string of 1 to 200 characters')
  assert.equal(faultIn({ email: 'a@example.org' }), 'email: is not a known field')
  const read = readRegistration({ username: 'ada' }, now)
  assert.deepEqual(read, { refused: { field: 'displayName', reason: 'is missing' } })
  for (const whole of [null, [], 'ada', 5]) assert.ok('refused' in readRegistration(whole, now))
})

test('one line registers a public worker, and absent fields stay unset', () => {
  const read = readRegistration(publicLine(), now)
  assert.ok(!('refused' in read))
  assert.equal(read.consents.length, 3)
  assert.equal(read.verifiedUntil?.toISOString(), '2036-05-01T00:00:00.000Z')
  assert.deepEqual(readRegistration(line(), now), {
    externalId: null,
    profile: { username: 'ada', displayName: 'Ada Lovelace' },
    terms: null,
    consents: [],
    verifiedUntil: null,
  })
})

test('a NUL or a lone surrogate in a line has its own message', () => {
  const why = (text: string) => {
    const read = parseStrictJson(Buffer.from(text))
    return read.kind === 'value' ? null : read.why
  }
  assert.equal(why('{"username":"a\\u0000b"}'), 'A string holds a NUL.')
  assert.equal(why('{"username":"a\\ud800b"}'), 'A string holds a lone surrogate.')
})

test('every accepted text can be stored and shown on one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 90 }), (displayName) => {
      if (faultIn({ displayName }) !== null) return
      assert.ok(displayName.isWellFormed())
      assert.doesNotMatch(displayName, /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
      assert.ok(displayName.length >= 1 && Array.from(displayName).length <= 80)
    }),
    { numRuns: 2_000 },
  )
})

test('a date is valid only if its month has that day', () => {
  assert.equal(dayOf('2028-02-29')?.toISOString(), '2028-02-29T00:00:00.000Z')
  for (const text of ['2026-02-29', '2026-13-01', '2026-1-1', '', '2026-02-29T00:00:00Z'])
    assert.equal(dayOf(text), null, text)
  assert.equal(instantOf('2026-05-14T11:00:00+02:00')?.toISOString(), '2026-05-14T09:00:00.000Z')
  assert.equal(instantOf('2026-05-14T11:00:60Z'), null)
})
