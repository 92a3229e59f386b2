import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { csvLine, parseCsvFields } from './csv.ts'
import { readLineBatches } from './line-batches.ts'

test('a cell with a comma, a quote or a line end is quoted, and its quotes are doubled', () => {
  assert.equal(csvLine(['a', 'b,c', 'd"e', 'f\ng', '']), 'a,"b,c","d""e","f\ng",')
})

test('a text that a spreadsheet would run as a formula gets an apostrophe in front', () => {
  const cells = ['=1+1', '+cmd', '-x', '@SUM(A1)', '\t=1', '=a,"b"']
  assert.equal(csvLine(cells), `'=1+1,'+cmd,'-x,'@SUM(A1),'\t=1,"'=a,""b"""`)
})

test('null is an empty cell, and no number is a formula', () => {
  assert.equal(csvLine([null, -5, 0, 1.5, true, '=']), ",-5,0,1.5,true,'=")
})

test('a number keeps its sign, and a text with a sign inside stays as it is', () => {
  assert.equal(csvLine(['-5', '+1.25', '0', 'a-b', '2.A.1.a']), '-5,+1.25,0,a-b,2.A.1.a')
})

async function read(chunks: readonly Uint8Array[], bytesMax = 1_000) {
  const limits = { bytesMax, batchMax: 3, isCsv: true }
  const found: { number: number; fields: ReturnType<typeof parseCsvFields>; isTooLong: boolean }[] =
    []
  for await (const batch of readLineBatches(Readable.from(chunks, { objectMode: true }), limits))
    for (const { number, bytes, isTooLong } of batch.lines)
      found.push({ number, fields: parseCsvFields(Buffer.from(bytes).toString()), isTooLong })
  return found
}

/** Writes a cell as in RFC 4180. `quotes` adds quotes where none are needed. */
function writeCell(text: string, quotes: boolean): string {
  return quotes || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const text = fc.string({ unit: fc.constantFrom('a', 'ü', '"', ',', '\n', '\r', ' '), maxLength: 6 })
const cell = fc.record({ text, quotes: fc.boolean() })
const record = fc.array(cell, { minLength: 2, maxLength: 4 })

test('CSV records are parsed with their fields and first line number, however the file is cut into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n'),
      fc.array(fc.nat(200)),
      async (records, lineEnd, cuts) => {
        const lines = records.map((cells) =>
          cells.map(({ text, quotes }) => writeCell(text, quotes)).join(','),
        )
        const whole = Buffer.from(lines.join(lineEnd))
        const offsets = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b)]
        const chunks = offsets.map((from, i) =>
          whole.subarray(from, offsets[i + 1] ?? whole.length),
        )
        let number = 1
        const expected = records.map((cells, i) => {
          const one = { number, fields: cells.map(({ text }) => text), isTooLong: false }
          number += `${lines[i]}\n`.split('\n').length - 1
          return one
        })
        assert.deepEqual(await read(chunks), expected)
      },
    ),
    { numRuns: 500 },
  )
})

test('a stray quote makes only its own record invalid', async () => {
  const file = ['a,b', '5" disk,x', 'c,d', '"e"f,g', 'h,i', '"j"",k', 'l,m'].join('\n')
  const found = await read([Buffer.from(file)])
  const summaries = found.map(({ number, fields }) => [
    number,
    'fault' in fields ? fields.fault.slice(0, 12) : fields.join(),
  ])
  assert.deepEqual(summaries, [
    [1, 'a,b'],
    [2, 'has a quote '],
    [3, 'c,d'],
    [4, 'has text beh'],
    [5, 'h,i'],
    // The rest of the file is within the quote, so none of it may pass as a record.
    [6, 'opens a quot'],
  ])
})

test('an unclosed quote is buffered up to the limit only', async () => {
  const chunks = Array.from({ length: 100 }, () => Buffer.alloc(65_536, 'x\n'))
  const found = await read([Buffer.from('a,b\n"'), ...chunks], 50)
  assert.deepEqual(
    found.map(({ number, isTooLong }) => [number, isTooLong]),
    [
      [1, false],
      [2, true],
    ],
  )
})
