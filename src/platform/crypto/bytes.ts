/** Bytes and their text forms. */
import { hash } from 'node:crypto'

/** SHA-256 as 64 lowercase hex characters. */
export function sha256Hex(input: string | Uint8Array): string {
  return hash('sha256', input, 'hex')
}

export function sha256(input: string | Uint8Array): Buffer {
  return hash('sha256', input, 'buffer')
}

/**
 * The longest value that base58 is used for is short, and a change of base takes quadratic time.
 */
export const base58BytesMax = 128

/**
 * Encodes as base58btc (draft-msporny-base58-03) without a multibase prefix. Throws a RangeError
 * beyond `base58BytesMax` bytes.
 */
export function base58Encode(bytes: Uint8Array): string {
  const { length } = bytes
  if (length > base58BytesMax) throw new RangeError(`base58 of ${length} bytes`)
  let zeros = 0
  while (zeros < length && bytes[zeros] === 0) zeros++
  const words = (length - zeros + 1) >> 1
  for (let i = 0; i < words; i++) {
    const at = length - 1 - 2 * i
    digitsIn[i] = (bytes[at] as number) | (at > zeros ? (bytes[at - 1] as number) << 8 : 0)
  }
  let end = characters.length
  for (let i = 0, limbs = changeBase(words, wordsToLimbs); i < limbs; i++) {
    let rest = digitsOut[i] as number
    for (let j = 0; j < 5; j++) {
      characters[--end] = base58Codes[rest % 58] as number
      rest = (rest / 58) | 0
    }
  }
  while (characters[end] === one) end++
  return '1'.repeat(zeros) + characters.toString('latin1', end)
}

/**
 * Decodes a base58btc text. Returns null for a text that is malformed or too long. `base58Encode`
 * gives the same text back.
 */
export function base58Decode(text: string): Uint8Array | null {
  const { length } = text
  if (length > 5 * limbsMax) return null
  let zeros = 0
  while (zeros < length && text.charCodeAt(zeros) === one) zeros++
  const limbs = Math.ceil((length - zeros) / 5)
  digitsIn.fill(0, 0, limbs)
  for (let i = zeros; i < length; i++) {
    const digit = base58Digits[text.charCodeAt(i)] ?? -1
    if (digit < 0) return null
    const at = ((length - 1 - i) / 5) | 0
    digitsIn[at] = (digitsIn[at] as number) * 58 + digit
  }
  const words = changeBase(limbs, limbsToWords)
  const high = words > 0 && (digitsOut[words - 1] as number) < 256 ? 1 : 0
  const bytes = new Uint8Array(zeros + 2 * words - high)
  if (bytes.length > base58BytesMax) return null
  for (let i = 0, at = bytes.length - 1; at >= zeros; i++, at -= 2) {
    const word = digitsOut[i] as number
    bytes[at] = word
    if (at > zeros) bytes[at - 1] = word >> 8
  }
  return bytes
}

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const base58Codes = Buffer.from(base58Alphabet)
const base58Digits = new Int8Array(128).fill(-1)
for (let digit = 0; digit < 58; digit++) base58Digits[base58Codes[digit] as number] = digit
const one = 0x31

/**
 * Bytes are handled as words of two, characters as limbs of five. A digit of one base times a power
 * of it, written in the other base, is a row of products; the rows are added up and carried once. A
 * sum stays below 2^16 × 58^5 × 64 < 2^52: exact.
 */
const wordBase = 2 ** 16
const limbBase = 58 ** 5
const wordsMax = base58BytesMax / 2
const limbsMax = Math.ceil((base58BytesMax * 8) / Math.log2(limbBase))

interface BaseChange {
  /** Powers of the old base in digits of the new one, the lowest digit first. */
  powers: readonly Float64Array[]
  base: number
}

const wordsToLimbs: BaseChange = { powers: powersOf(wordBase, limbBase, wordsMax), base: limbBase }
const limbsToWords: BaseChange = { powers: powersOf(limbBase, wordBase, limbsMax), base: wordBase }

/**
 * Scratch space, safe because nothing here is asynchronous. Lowest digit first; a change of base
 * leaves `digitsOut` with one digit to spare.
 */
const digitsIn = new Float64Array(limbsMax + wordsMax)
const digitsOut = new Float64Array(limbsMax + wordsMax)
const characters = Buffer.alloc(5 * (limbsMax + 2) + 1)

/**
 * Writes the number in `digitsIn` to `digitsOut`. Returns its count of digits, without leading
 * zeros.
 */
function changeBase(digits: number, { powers, base }: BaseChange): number {
  const width = digits === 0 ? 0 : (powers[digits - 1] as Float64Array).length + 2
  digitsOut.fill(0, 0, width)
  for (let i = 0; i < digits; i++) {
    const digit = digitsIn[i] as number
    const power = powers[i] as Float64Array
    for (let j = 0; j < power.length; j++)
      digitsOut[j] = (digitsOut[j] as number) + digit * (power[j] as number)
  }
  let carry = 0
  let used = 0
  for (let j = 0; j < width; j++) {
    const sum = (digitsOut[j] as number) + carry
    const digit = sum % base
    carry = (sum - digit) / base
    digitsOut[j] = digit
    if (digit !== 0) used = j + 1
  }
  return used
}

function powersOf(from: number, to: number, count: number): Float64Array[] {
  const powers: Float64Array[] = []
  for (let i = 0, power = 1n; i < count; i++, power *= BigInt(from)) {
    const digits: number[] = []
    for (let rest = power; rest > 0n; rest /= BigInt(to)) digits.push(Number(rest % BigInt(to)))
    powers.push(Float64Array.from(digits))
  }
  return powers
}
