import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { evidenceLine, sourceLine } from '../scoring/evidence/schema.ts'
import { readRegistration } from '../workers/registration.ts'
import { registration } from '../workers/schema.ts'
import { csvRecordParser } from './parse-csv-record.ts'

const bytes = (text: string) => Buffer.from(text)

function parserOf(header: Uint8Array, schema: TSchema) {
  const parser = csvRecordParser(header, schema)
  assert.ok(!('fault' in parser))
  return parser
}

function faultOf(header: string, schema: TSchema): string {
  const parser = csvRecordParser(bytes(header), schema)
  return 'fault' in parser ? parser.fault : ''
}

test('a CSV record and the same line of JSON give the same value', () => {
  const header =
    '\ufeffusername,displayName,terms.version,terms.acceptedAt,consents.0.permission,consents.0.textVersion,skills.0.name,skills.0.verified,skills.1.name,bio'
  const read = parserOf(bytes(header), registration)
  const record =
    'ada,"Lovelace, Ada",2,2026-01-01T00:00:00Z,public_profile,3,Git,true,"He said ""hi""","two\nlines"'
  const value = {
    username: 'ada',
    displayName: 'Lovelace, Ada',
    terms: { version: '2', acceptedAt: '2026-01-01T00:00:00Z' },
    consents: [{ permission: 'public_profile', textVersion: '3' }],
    skills: [{ name: 'Git', verified: true }, { name: 'He said "hi"' }],
    bio: 'two\nlines',
  }
  assert.deepEqual(read(bytes(record)), { value })
  assert.ok(!('refused' in readRegistration(value, new Date('2026-05-14T00:00:00Z'))))
  assert.deepEqual(read(bytes('ada,Ada,,,,,,,,')), {
    value: { username: 'ada', displayName: 'Ada' },
  })
})

test('a cell is a number or boolean only if JSON writes it so; any other cell stays text', () => {
  const read = parserOf(bytes('value'), evidenceLine)
  const cells = { '820': 820, '0': 0, '-1': -1, ' 5': ' 5', '05': '05', '1e2': '1e2', '0.5': '0.5' }
  for (const [cell, value] of Object.entries(cells))
    assert.deepEqual(read(bytes(cell)), { value: { value } })
  // A JavaScript number cannot hold every integer of 16 digits.
  for (const [cell, value] of [
    ['999999999999999', 999_999_999_999_999],
    ['9007199254740993', '9007199254740993'],
  ] as const)
    assert.deepEqual(read(bytes(cell)), { value: { value } })
  const parseFlag = parserOf(bytes('skills.0.verified'), registration)
  for (const [cell, verified] of [
    ['true', true],
    ['false', false],
    ['TRUE', 'TRUE'],
    ['no', 'no'],
  ] as const)
    assert.deepEqual(parseFlag(bytes(cell)), { value: { skills: [{ verified }] } })
})

test('a skipped index of a list is rejected by its index', () => {
  const read = parserOf(bytes('username,displayName,skills.1.name'), registration)
  const found = read(bytes('ada,Ada,Git'))
  assert.ok('value' in found)
  const line = readRegistration(found.value, new Date())
  assert.ok('refused' in line && line.refused.field === 'skills.0')
})

test('an unknown column rejects the whole file and the message lists the known ones', () => {
  const wrong: readonly [header: string, message: RegExp][] = [
    ['id,email', /"email" in the header is no field; there are id, name, kind, group, assurance/],
    ['id;name', /Separate the columns by commas/],
    ['id\tname', /Separate the columns by commas/],
    ['id,name,id', /names id twice/],
    ['__proto__', /no field/],
    ['constructor', /no field/],
    ['', /no field/],
    ['"id', /never closed/],
    ['\ufffe', /no field/],
  ]
  for (const [header, message] of wrong) assert.match(faultOf(header, sourceLine), message, header)
  assert.match(faultOf('x', registration), /, skills\.0\.name, /)
  for (const header of ['private', 'private.notes.x', 'value.0'])
    assert.notEqual(faultOf(header, evidenceLine), '')
  for (const header of ['skills.100.name', 'skills.01.name', 'skills', 'skills.0'])
    assert.notEqual(faultOf(header, registration), '')
})

test('a malformed record is rejected as a whole with its reason', () => {
  const read = parserOf(bytes('id,name'), sourceLine)
  const reasonOf = (record: Uint8Array): string => {
    const found = read(record)
    assert.ok('refused' in found && found.refused.field === null)
    return found.refused.reason
  }
  assert.match(reasonOf(bytes('a')), /has 1 field, the header 2/)
  assert.match(reasonOf(bytes('a,b,c')), /has 3 fields, the header 2/)
  assert.match(reasonOf(bytes('a,"b')), /never closed/)
  assert.match(reasonOf(bytes('a,b\0')), /NUL/)
  assert.match(reasonOf(Buffer.from([0x61, 0x2c, 0xff])), /UTF-8/)
})
