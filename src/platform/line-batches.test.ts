import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { collectGarbage } from '../../test/support/start/garbage.ts'
import { type Line, readLineBatches } from './line-batches.ts'

const limits = { bytesMax: 20, batchMax: 3 }

async function read(chunks: readonly Uint8Array[], limits: { bytesMax: number; batchMax: number }) {
  const batches: Line[][] = []
  let bytesRead = 0
  for await (const batch of readLineBatches(Readable.from(chunks, { objectMode: true }), limits)) {
    batches.push(batch.lines)
    bytesRead = batch.bytesRead
  }
  return { batches, bytesRead, lines: batches.flat() }
}

const textOf = (line: Line | undefined): string => Buffer.from(line?.bytes ?? []).toString('utf8')

test('lines and their numbers are the same however a file is cut into chunks', async () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'ü', '"', ' '), maxLength: 9 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.constantFrom('\n', '\r\n'),
      fc.array(fc.nat(120)),
      async (lines, lineEnd, cuts) => {
        const whole = Buffer.from(lines.join(lineEnd))
        const offsets = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b)]
        const chunks = offsets.map((from, i) =>
          whole.subarray(from, offsets[i + 1] ?? whole.length),
        )
        const found = await read(chunks, limits)
        const expected = lines
          .map((text, i) => ({ number: i + 1, text }))
          .filter(({ text }) => text)
        assert.deepEqual(
          found.lines.map((line) => ({ number: line.number, text: textOf(line) })),
          expected,
        )
        assert.ok(found.batches.every((batch) => batch.length <= 3 && batch.length > 0))
      },
    ),
  )
})

test('a line of exactly the limit is read; one byte more is too long, and the next line is read again', async () => {
  const { lines } = await read([Buffer.from(`${'x'.repeat(20)}\n${'y'.repeat(21)}\nz`)], limits)
  assert.deepEqual(
    lines.map(({ isTooLong }) => isTooLong),
    [false, true, false],
  )
  assert.equal(textOf(lines[2]), 'z')
})

test('a line end of two bytes does not count towards the limit', async () => {
  const text = `${'x'.repeat(20)}\r\n${'y'.repeat(21)}\r\n${'z'.repeat(20)}\ry\r\nz`
  for (const cut of [20, 21, 22, 43]) {
    const whole = Buffer.from(text)
    const { lines } = await read([whole.subarray(0, cut), whole.subarray(cut)], limits)
    assert.deepEqual(
      lines.map(({ number, isTooLong }) => ({ number, isTooLong })),
      [false, true, true, false].map((isTooLong, i) => ({ number: i + 1, isTooLong })),
    )
    assert.equal(textOf(lines[0]), 'x'.repeat(20))
  }
})

test('a line without end is buffered up to the limit only', async () => {
  const heldBytes = (): number => {
    collectGarbage()
    // The first collection frees buffers on another thread; the second waits for it.
    collectGarbage()
    return process.memoryUsage().arrayBuffers
  }
  const before = heldBytes()
  let atItsEnd = before
  function* endless() {
    for (let i = 0; i < 10_000; i++) yield Buffer.alloc(65_536, 'x')
    atItsEnd = heldBytes()
  }
  const batches = readLineBatches(Readable.from(endless(), { objectMode: true }), limits)
  const { value } = await batches.next()
  assert.equal(value?.lines[0]?.isTooLong, true)
  assert.equal(value?.lines[0]?.bytes.length, 22)
  assert.equal(value?.bytesRead, 655_360_000)
  assert.ok(atItsEnd - before < 20e6, `${atItsEnd - before} bytes are held`)
})

test('an empty input has no batch', async () => {
  assert.deepEqual((await read([], limits)).batches, [])
})
