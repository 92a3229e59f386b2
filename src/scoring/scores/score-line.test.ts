import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readScoreLine } from './issue-scores.ts'

const line = {
  username: 'ada-lovelace',
  score: 742,
  confidenceLow: 701,
  confidenceHigh: 778,
  evidenceCount: 18,
  engineVersion: '1.4.2',
  engineBinarySha256: '5'.repeat(64),
}
const read = (text: string | object) =>
  readScoreLine(Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)))

test('the band is computed where it is not given, and accepted where it is right', () => {
  assert.deepEqual(read(line), { ...line, scoreBand: 'strong' })
  assert.deepEqual(read({ ...line, scoreBand: 'strong' }), { ...line, scoreBand: 'strong' })
})

test('an id is compared in lowercase', () => {
  const id = '6B1F6C1E-6E0A-4A52-9A55-5F1C1B3F1C1E'
  assert.deepEqual(read({ ...line, id }), {
    ...line,
    scoreBand: 'strong',
    id: id.toLowerCase(),
  })
})

const refusedLines: [string | object, string | null][] = [
  [{ ...line, scoreBand: 'exceptional' }, 'scoreBand'],
  [{ ...line, scoreBand: 'splendid' }, 'scoreBand'],
  [{ ...line, confidenceLow: 743 }, 'confidenceLow'],
  [{ ...line, confidenceHigh: 741 }, 'confidenceHigh'],
  [{ ...line, score: '742' }, 'score'],
  [{ ...line, score: 742.5 }, 'score'],
  [{ ...line, score: 1_001 }, 'score'],
  [{ ...line, score: undefined }, 'score'],
  [{ ...line, id: '1' }, 'id'],
  [{ ...line, username: 'Ada' }, 'username'],
  [{ ...line, email: 'ada@example.org' }, 'email'],
  [{ ...line, engineBinarySha256: 'F'.repeat(64) }, 'engineBinarySha256'],
  ['[]', null],
  ['null', null],
  ['{', null],
  [`{"score":1,"score":2}`, null],
  ['\u{feff}{}', null],
]

for (const [text, field] of refusedLines)
  test(`refused, naming ${field ?? 'the line'}: ${JSON.stringify(text).slice(0, 60)}`, () => {
    const answer = read(text)
    assert.ok('refused' in answer)
    assert.equal(answer.refused.field, field)
    assert.match(answer.refused.reason, /\w/)
  })
