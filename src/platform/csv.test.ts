import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine, parseCsv } from './csv.ts'

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

test('a text is parsed with quotes, line ends inside quotes, CR LF and a byte order mark', () => {
  const text = '\uFEFFa,b\r\n"x, ""y""","1\n2"\n\nlast,\n'
  assert.deepEqual(parseCsv(text), {
    records: [
      ['a', 'b'],
      ['x, "y"', '1\n2'],
      ['last', ''],
    ],
  })
  assert.deepEqual(parseCsv('a,b'), { records: [['a', 'b']] })
  assert.deepEqual(parseCsv(''), { records: [] })
})

test('a malformed line is named by its number, and no cell is quoted', () => {
  assert.deepEqual(parseCsv('a\n"b'), { faultyLine: 2 })
  assert.deepEqual(parseCsv('a\nb"c\n'), { faultyLine: 2 })
  assert.deepEqual(parseCsv('"a\nb"\n"c"d\n'), { faultyLine: 3 })
})
