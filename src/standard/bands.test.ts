import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import fc from '../../test/support/oracle/fc.ts'
import { bandOf, scoreBandDefinitions, scoreBands } from './bands.ts'
import { scoreBandDefinitionSet } from './schema.ts'

test('bands: every boundary lies where the table says', () => {
  const boundaries: [number, string][] = [
    [0, 'emerging'],
    [299, 'emerging'],
    [300, 'developing'],
    [449, 'developing'],
    [450, 'verified'],
    [599, 'verified'],
    [600, 'strong'],
    [749, 'strong'],
    [750, 'exceptional'],
    [1000, 'exceptional'],
  ]
  for (const [score, band] of boundaries) assert.equal(bandOf(score), band, `score ${score}`)
})

test('bands: contiguous from 0 to 1000, without a gap or an overlap', () => {
  let next = 0
  for (const row of scoreBands) {
    assert.equal(row.min, next)
    assert.ok(row.max >= row.min)
    next = row.max + 1
  }
  assert.equal(next, 1001)
})

test('bands: a higher score never has a lower band', () => {
  const score = fc.integer({ min: 0, max: 1000 })
  fc.assert(fc.property(score, score, (a, b) => rank(Math.min(a, b)) <= rank(Math.max(a, b))))
})

test('bands: a number that is no score from 0 to 1000 is an error, never a band', () => {
  for (const score of [-1, 1001, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
    assert.throws(() => bandOf(score), RangeError, String(score))
})

test('bands: the document has the published shape and says what a band does not mean', () => {
  const document = scoreBandDefinitions('https://scores.example.org')
  assert.ok(Compile(scoreBandDefinitionSet).Check(document))
  assert.equal(document['@id'], 'https://scores.example.org/standard/v1/score-bands.jsonld')
  const notes = document.notes.join(' ')
  assert.match(notes, /not percentiles/)
  assert.match(notes, /never lowers it/)
  assert.match(notes, /at least 95 of 100 workers/)
  assert.match(document.score_scale.interval, /150,000 ÷ mass/)
  for (const band of document.bands) {
    assert.ok(band.meaning.length >= 60 && band.guidance.length >= 60, band.band)
    assert.equal(bandOf(band.min), band.band)
    assert.equal(bandOf(band.max), band.band)
  }
})

function rank(score: number): number {
  return scoreBands.findIndex((row) => row.band === bandOf(score))
}
