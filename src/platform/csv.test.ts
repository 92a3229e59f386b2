import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'

test('a cell with a comma, a quote or a line end is quoted, and its quotes are doubled', () => {
  assert.equal(csvLine(['a', 'b,c', 'd"e', 'f\ng', '']), 'a,"b,c","d""e","f\ng",')
})

test('a text that a spreadsheet would run as a formula gets an apostrophe in front', () => {
  const cells = ['=1+1', '+cmd', '-x', '@SUM(A1)', '\t=1', '=a,"b"']
  assert.equal(csvLine(cells), `'=1+1,'+cmd,'-x,'@SUM(A1),'\t=1,"'=a,""b"""`)
})

test('a number keeps its sign, and a text with a sign inside stays as it is', () => {
  assert.equal(csvLine(['-5', '+1.25', '0', 'a-b', '2.A.1.a']), '-5,+1.25,0,a-b,2.A.1.a')
})
