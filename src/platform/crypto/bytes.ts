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

const alphabet = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')
const digits = new Int8Array(128).fill(-1)
for (const [digit, code] of alphabet.entries()) digits[code] = digit

/** Five characters are a limb, so that a product stays exact in a double. */
const limbCharacters = 5
const limbBase = 58 ** limbCharacters

/** Scratch space, safe because nothing here is asynchronous. */
const characters = Buffer.alloc(2 * base58BytesMax)

/**
 * Encodes as base58btc (draft-msporny-base58-03) without a multibase prefix. Throws a RangeError
 * beyond `base58BytesMax` bytes.
 */
export function base58Encode(bytes: Uint8Array): string {
  if (bytes.length > base58BytesMax) throw new RangeError(`base58 of ${bytes.length} bytes`)
  let zeros = 0
  while (bytes[zeros] === 0) zeros++
  // The lowest limb first.
  const limbs: number[] = []
  for (let at = zeros; at < bytes.length; at++) {
    let carry = bytes[at] as number
    for (let i = 0; i < limbs.length; i++) {
      const sum = (limbs[i] as number) * 256 + carry
      carry = Math.floor(sum / limbBase)
      limbs[i] = sum - carry * limbBase
    }
    if (carry > 0) limbs.push(carry)
  }
  let end = characters.length
  for (let limb of limbs)
    for (let i = 0; i < limbCharacters; i++) {
      characters[--end] = alphabet[limb % 58] as number
      limb = Math.floor(limb / 58)
    }
  return '1'.repeat(zeros) + characters.toString('latin1', end).replace(/^1+/, '')
}

/** The most characters whose number a double holds exactly. */
const chunkCharacters = 9
const chunkBase = 58n ** BigInt(chunkCharacters)

/**
 * Decodes a base58btc text. Returns null for a text that is malformed or too long. `base58Encode`
 * gives the same text back.
 */
export function base58Decode(text: string): Uint8Array | null {
  const { length } = text
  // A byte takes less than 1.4 characters.
  if (length > 1.4 * base58BytesMax) return null
  let zeros = 0
  while (text[zeros] === '1') zeros++
  let number = 0n
  for (let at = zeros; at < length; at += chunkCharacters) {
    const end = Math.min(at + chunkCharacters, length)
    let part = 0
    for (let i = at; i < end; i++) {
      const digit = digits[text.charCodeAt(i)] ?? -1
      if (digit < 0) return null
      part = part * 58 + digit
    }
    const base = end - at === chunkCharacters ? chunkBase : 58n ** BigInt(end - at)
    number = number * base + BigInt(part)
  }
  const hex = number === 0n ? '' : number.toString(16)
  const size = zeros + Math.ceil(hex.length / 2)
  if (size > base58BytesMax) return null
  return new Uint8Array(Buffer.from(hex.padStart(2 * size, '0'), 'hex'))
}
