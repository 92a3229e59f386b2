import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { qrCode } from './qr.ts'

type Read = (data: Uint8ClampedArray, width: number, height: number) => { data: string } | null
/** Here without the correction of its table, as other readers use it. */
const read: Read = createRequire(import.meta.url)('jsqr')

/** Draws the code with `scale` pixels a module, as a scanner sees it. */
function pixelsOf(svg: string, scale: number): { data: Uint8ClampedArray; width: number } {
  const size = Number(/viewBox="-4 -4 (\d+)/.exec(svg)?.[1])
  const width = size * scale
  const data = new Uint8ClampedArray(width * width * 4).fill(255)
  for (const [, x, y, length] of svg.matchAll(/M(\d+) (\d+)\.5h(\d+)/g))
    for (let row = (Number(y) + 4) * scale; row < (Number(y) + 5) * scale; row++)
      for (let i = 0; i < Number(length) * scale; i++) {
        const at = (row * width + (Number(x) + 4) * scale + i) * 4
        data.fill(0, at, at + 3)
      }
  return { data, width }
}

test('a QR code of every length is read back, also by readers with the wrong table of version 23', () => {
  for (let length = 10; length <= 1_400; length += 47) {
    const text = `https://scores.example.org/verify#z=${'aZ09_-'.repeat(300)}`.slice(0, length)
    const { data, width } = pixelsOf(qrCode(text, 'test').text, 3)
    assert.equal(read(data, width, width)?.data, text, `${length} characters`)
  }
})
