import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evidenceLineOf } from '../../../test/support/build/evidence.ts'
import { readEvidenceLine } from './evidence-line.ts'
import { evidenceLine, evidencePrivate } from './schema.ts'

const sound = evidenceLineOf(1)

function read(over: Record<string, unknown>) {
  return readEvidenceLine(JSON.parse(JSON.stringify({ ...sound, ...over })))
}

test('a line with every field, and one with the required fields only, are read unchanged', () => {
  const whole = {
    ...sound,
    expiresOn: '2030-01-01',
    digest: 'ab'.repeat(32),
    private: { artifactUrl: 'https://example.org/a?b=c', submitter: 'Ada', notes: 'two\nlines' },
  }
  assert.deepEqual(read({}), sound)
  assert.deepEqual(read(whole), whole)
})

const wrong: readonly [field: string | null, reason: RegExp, over: Record<string, unknown>][] = [
  ['workerId', /UUID/, { workerId: 'ada' }],
  ['workerId', /UUID/, { workerId: `urn:uuid:${sound.workerId}` }],
  ['workerExternalId', /200/, { workerExternalId: '' }],
  ['username', /username/, { username: 'Ada Lovelace' }],
  ['value', /missing/, { value: undefined }],
  ['sourceId', /lowercase/, { sourceId: 'The Examiner' }],
  ['externalId', /one line/, { externalId: '' }],
  ['externalId', /one line/, { externalId: 'a\u001b[2Jb' }],
  ['externalId', /reorders/, { externalId: 'a\u202eb' }],
  ['externalId', /reorders/, { externalId: '\u2066a\u2069' }],
  ['externalId', /200/, { externalId: 'a'.repeat(201) }],
  ['skillId', /hss:typescript/, { skillId: 'typescript' }],
  ['type', /evidence type/, { type: 'Assessment' }],
  ['value', /0 to 1000/, { value: 1_001 }],
  ['value', /0 to 1000/, { value: -1 }],
  ['value', /0 to 1000/, { value: 0.5 }],
  ['value', /0 to 1000/, { value: '500' }],
  ['value', /0 to 1000/, { value: null }],
  ['observedOn', /2026-05-14/, { observedOn: '14.5.2026' }],
  ['observedOn', /2026-05-14/, { observedOn: '2026-05-14T09:00:00Z' }],
  ['expiresOn', /2026-05-14/, { expiresOn: 'never' }],
  ['digest', /64/, { digest: 'AB'.repeat(32) }],
  ['private', /one field/, { private: {} }],
  ['private.artifactUrl', /URL/, { private: { artifactUrl: 'file:///etc/passwd' } }],
  ['private.submitter', /one line/, { private: { submitter: 'a\nb' } }],
  ['private.submitter', /reorders/, { private: { submitter: 'Ada\u202b' } }],
  ['private.notes', /8000/, { private: { notes: 'x'.repeat(8_001) } }],
  ['private.email', /not a known field/, { private: { email: 'ada@example.org' } }],
]

test('each fault of a line is reported with its field and its own message', () => {
  for (const [field, reason, over] of wrong) {
    const line = read(over)
    assert.ok('refused' in line, JSON.stringify(over))
    assert.equal(line.refused.field, field, JSON.stringify(over))
    assert.match(line.refused.reason, reason)
  }
})

test('text of any script is accepted, also right-to-left, and notes may hold reordering characters', () => {
  for (const over of [
    { externalId: 'תעודה-12' },
    { externalId: 'شهادة 7' },
    { externalId: 'a\u200db\u2065c\u206a' },
    { private: { submitter: 'Дмитрий 田中' } },
    { private: { notes: 'See \u2067שלום\u2069.' } },
  ])
    assert.deepEqual(read(over), { ...sound, ...over })
})

test('a line that is not a JSON object is refused as a whole', () => {
  for (const value of [[], null, 'text', 1]) {
    const line = readEvidenceLine(value)
    assert.ok('refused' in line && line.refused.field === null)
  }
})

/** Attributes that must never influence a score, and fields that would reveal them. */
const protectedAttributes = [
  'name',
  'displayName',
  'email',
  'age',
  'birthDate',
  'dateOfBirth',
  'gender',
  'sex',
  'ethnicity',
  'race',
  'religion',
  'nationality',
  'disability',
  'maritalStatus',
  'school',
  'schoolRank',
  'university',
  'photo',
  'picture',
  'avatarUrl',
  'location',
  'address',
  'country',
  'city',
  'postcode',
  'phone',
  'salary',
]

test('a line has no field for a protected attribute, neither in the scored part nor in the private part', () => {
  for (const name of protectedAttributes) {
    const line = read({ [name]: 'CANARY' })
    assert.deepEqual(line, { refused: { field: name, reason: 'is not a known field' } })
    const inside = read({ private: { notes: 'x', [name]: 'CANARY' } })
    assert.ok('refused' in inside && inside.refused.field === `private.${name}`)
  }
  assert.deepEqual(Object.keys(evidenceLine.properties), [
    'workerId',
    'workerExternalId',
    'username',
    'sourceId',
    'externalId',
    'skillId',
    'type',
    'value',
    'observedOn',
    'expiresOn',
    'digest',
    'private',
  ])
  assert.deepEqual(Object.keys(evidencePrivate.properties), ['artifactUrl', 'submitter', 'notes'])
})

test('a refusal repeats no content of the line', () => {
  for (const [, , over] of wrong) {
    const line = readEvidenceLine({ ...over, private: { notes: 'CANARY', canary: 'CANARY' } })
    assert.ok('refused' in line)
    assert.doesNotMatch(JSON.stringify(line), /CANARY/)
  }
})
