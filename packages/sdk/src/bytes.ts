/** Bytes and their text forms, with web APIs alone. */

export type Bytes = Uint8Array<ArrayBuffer>

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text)
}

/** Returns the digest of a text in UTF-8. */
export async function sha256(text: string): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text)))
}

export function hex(bytes: Bytes): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function joined(parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Returns null for a text that is not base64url. */
export function base64UrlDecode(text: string): Bytes | null {
  if (!/^([\w-]{4})*([\w-]{2,3})?$/.test(text)) return null
  const decoded = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = new Uint8Array(decoded.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = decoded.charCodeAt(at)
  return bytes
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Decodes base58btc without its prefix. Returns null for other characters, or for over 128. */
export function base58Decode(text: string): Bytes | null {
  if (text.length > 128) return null
  // Least significant byte first.
  const bytes: number[] = []
  for (const character of text) {
    let carry = alphabet.indexOf(character)
    if (carry < 0) return null
    for (let at = 0; at < bytes.length; at++) {
      carry += (bytes[at] as number) * 58
      bytes[at] = carry & 255
      carry >>= 8
    }
    if (carry > 0) bytes.push(carry)
  }
  for (let at = 0; text[at] === '1'; at++) bytes.push(0)
  return new Uint8Array(bytes.reverse())
}

/**
 * Unpacks `bytes`. Returns null if they are damaged or unpack to over `bytesMax`: no more than that
 * is ever held.
 */
export async function inflate(
  bytes: Bytes,
  format: 'gzip' | 'deflate-raw',
  bytesMax: number,
): Promise<Bytes | null> {
  // A blob is read in small parts: one large part would be unpacked as a whole.
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)).getReader()
  const parts: Uint8Array[] = []
  try {
    for (let left = bytesMax; left >= 0; ) {
      const { done, value } = await reader.read()
      if (done) return joined(parts)
      left -= value.length
      parts.push(value)
    }
  } catch {
    return null
  }
  await reader.cancel()
  return null
}
