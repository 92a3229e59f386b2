/** Bytes and their text forms. */
import { hash } from 'node:crypto'

/** SHA-256 as 64 lowercase hex characters. */
export function sha256Hex(input: string | Uint8Array): string {
  return hash('sha256', input, 'hex')
}

export function sha256(input: string | Uint8Array): Buffer {
  return hash('sha256', input, 'buffer')
}

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const base58Digits = new Int8Array(128).fill(-1)
for (let digit = 0; digit < 58; digit++) base58Digits[base58Alphabet.charCodeAt(digit)] = digit

/** Base58btc (draft-msporny-base58-03), without a multibase prefix. */
export function base58Encode(bytes: Uint8Array): string {
  const digits: number[] = []
  let zeros = 0
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++
  for (let i = zeros; i < bytes.length; i++) {
    let carry = bytes[i] as number
    for (let j = 0; j < digits.length; j++) {
      carry += (digits[j] as number) * 256
      digits[j] = carry % limb
      carry = (carry - (carry % limb)) / limb
    }
    while (carry > 0) {
      digits.push(carry % limb)
      carry = (carry - (carry % limb)) / limb
    }
  }
  let text = ''
  for (let j = digits.length - 1; j >= 0; j--) text += limbText(digits[j] as number, text === '')
  return '1'.repeat(zeros) + text
}

/** Digits are carried in groups of five (58^5): a fifth of the steps, and 58^5 × 256 stays a small integer. */
const limb = 58 ** 5

function limbText(value: number, leading: boolean): string {
  let text = ''
  let rest = value
  for (let i = 0; i < 5 && (rest > 0 || !leading); i++) {
    text = base58Alphabet[rest % 58] + text
    rest = (rest - (rest % 58)) / 58
  }
  return text
}

/** The bytes of a base58btc text, or null where it is not one. Every accepted text is the one `base58Encode` gives back. */
export function base58Decode(text: string): Uint8Array | null {
  const bytes: number[] = []
  let zeros = 0
  while (zeros < text.length && text[zeros] === '1') zeros++
  for (let i = zeros; i < text.length; i++) {
    const code = text.charCodeAt(i)
    let carry = code < 128 ? (base58Digits[code] as number) : -1
    if (carry < 0) return null
    for (let j = 0; j < bytes.length; j++) {
      carry += (bytes[j] as number) * 58
      bytes[j] = carry & 0xffffff
      carry = Math.floor(carry / 0x1000000)
    }
    while (carry > 0) {
      bytes.push(carry & 0xffffff)
      carry = Math.floor(carry / 0x1000000)
    }
  }
  const body = Buffer.alloc(bytes.length * 3)
  for (let j = 0; j < bytes.length; j++)
    body.writeUIntBE(bytes[j] as number, body.length - 3 * (j + 1), 3)
  let lead = 0
  while (lead < body.length && body[lead] === 0) lead++
  return Buffer.concat([Buffer.alloc(zeros), body.subarray(lead)])
}
