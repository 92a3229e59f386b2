/**
 * Pure: the form of an API key (decision D14): `svc_live_` or `svc_test_`, 30 random base62
 * characters and a checksum of 6. An operator token begins with `svc_op_` and has the same form.
 * The checksum is the CRC-32 of all characters before it, in base62, most significant digit first.
 * Scanners recognise a leaked key by its form, and a mistyped key costs no query.
 */
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Environment } from '../../edge/http/callers.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { isWithin, parseAddress, parseNetwork } from '../../platform/networks.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 30
const checksumLength = 6
const forms = {
  key: /^svc_(?:live|test)_[0-9A-Za-z]{36}$/,
  token: /^svc_op_[0-9A-Za-z]{36}$/,
} as const

/** Returns a new key with 178 bits of randomness. */
export function newApiKey(environment: Environment): string {
  return newSecret(`svc_${environment}_`)
}

export function newOperatorToken(): string {
  return newSecret('svc_op_')
}

function newSecret(prefix: string): string {
  const body = prefix + randomBase62(randomLength)
  return body + checksum(body)
}

export function isApiKey(text: string): boolean {
  return isOf(forms.key, text)
}

function isOf(form: RegExp, text: string): boolean {
  return form.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
}

/** Returns the key of an Authorization header, or null if the header holds no well-formed key. */
export function bearerKey(authorization: string): string | null {
  return bearerOf(forms.key, authorization)
}

/** Returns the operator token of an Authorization header, or null if it holds none. */
export function bearerToken(authorization: string): string | null {
  return bearerOf(forms.token, authorization)
}

function bearerOf(form: RegExp, authorization: string): string | null {
  const [, secret] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  return secret !== undefined && isOf(form, secret) ? secret : null
}

/**
 * Returns the stored digest of a key, 32 bytes. A reader of the digest cannot guess the key, because
 * a key has 178 random bits.
 */
export function keyDigest(key: string): Buffer {
  return sha256(key)
}

/** Returns the text by which people tell keys apart: `svc_live_aB3d…x9Yz`. */
export function shownKey(key: string): string {
  return `${key.slice(0, key.lastIndexOf('_') + 5)}…${key.slice(-4)}`
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < checksumLength; i++) {
    text = alphabet[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/**
 * Skips bytes from 248 on, because they would make the first characters of the alphabet more
 * likely.
 */
function randomBase62(length: number): string {
  let text = ''
  while (text.length < length)
    for (const byte of randomBytes(length)) if (byte < 248) text += alphabet[byte % 62]
  return text.slice(0, length)
}

/**
 * Returns the stored form of a network, its first address and its length: `192.0.2.0/24`. Returns
 * null if the text is no network.
 */
export function networkText(text: string): string | null {
  const network = parseNetwork(text)
  if (network === null) return null
  const [address, prefix] = network
  const bits = address.toByteArray()
  const masked = bits.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - 8 * i))))
  return `${shown(masked)}/${prefix}`
}

function shown(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.')
  const parts = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  )
  return parts.join(':')
}

/**
 * Returns whether the key may be used from `address`. `allowed` holds networks, or is null for any
 * address. An undefined `address` is allowed only for null.
 */
export function isAllowedFrom(
  allowed: readonly string[] | null,
  address: string | undefined,
): boolean {
  if (allowed === null) return true
  const from = parseAddress(address ?? '')
  return (
    from !== null &&
    isWithin(
      from,
      allowed.map(parseNetwork).filter((network) => network !== null),
    )
  )
}
