/** The form in which texts are compared, over every code point and every pair that may compose. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { foldText } from './fold-text.ts'

const codePoints = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))

const hasCase = (text: string): boolean =>
  text.toLowerCase() !== text || text.toUpperCase() !== text
const isHangul = (text: string): boolean => /\p{Script=Hangul}/u.test(text)

/** Marks that follow a letter in a decomposition, and marks that have a case of their own. */
const composing = new Set(
  codePoints.flatMap((point) => {
    const later = isHangul(point) ? [] : Array.from(point.normalize('NFD')).slice(1)
    return /\p{M}/u.test(point) && hasCase(point) ? [...later, point] : later
  }),
)
const changing = codePoints.filter(
  (point) => hasCase(point) || (!isHangul(point) && point.normalize('NFKD') !== point),
)

/** Many texts are folded in one: a comma is no letter and composes with nothing. */
function assertSettled(texts: readonly string[]): void {
  const folded = foldText(texts.join(','))
  assert.equal(foldText(folded), folded)
}

function inBlocks(texts: readonly string[], check: (block: readonly string[]) => void): void {
  for (let i = 0; i < texts.length; i += 1_024) check(texts.slice(i, i + 1_024))
}

test('folding a folded code point changes nothing, over all code points', () => {
  inBlocks(codePoints, assertSettled)
})

test('folding a folded pair of a letter and a mark changes nothing, over all pairs that may compose', () => {
  for (const mark of composing)
    inBlocks(
      changing.map((letter) => letter + mark),
      assertSettled,
    )
})

test('folding a folded text changes nothing, with characters that cannot be seen between letters and marks', () => {
  const piece = fc.constantFrom(...changing, ...composing, '\u200d', '\u034f', ' ', '\u3000', 'a')
  const text = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(text, (written) => assertSettled([written])),
    { numRuns: 5_000 },
  )
})

test('a code point and its other cases fold to the same text, over all code points', () => {
  inBlocks(codePoints, (block) => {
    const texts = block.join(',')
    const folded = foldText(texts)
    assert.equal(foldText(texts.toLowerCase()), folded)
    assert.equal(foldText(texts.toUpperCase()), folded)
  })
})

test('ẞ, ß and SS are one, and so are final and other sigmas, wide letters and runs of white space', () => {
  for (const text of ['STRAẞE', 'straße', 'Strasse', 'ＳＴＲＡＳＳＥ', 'stra\u00adße'])
    assert.equal(foldText(text), 'strasse', text)
  assert.equal(foldText('ΣΟΦΟΣ'), foldText('σοφος'))
  assert.equal(foldText(' a\u3000\n b '), 'a b')
  assert.notEqual(foldText('Zoë'), foldText('Zoe'))
})
