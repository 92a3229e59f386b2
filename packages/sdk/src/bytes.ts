/** Bytes and their text forms, with web APIs alone. */

export type Bytes = Uint8Array<ArrayBuffer>

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text)
}

export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

export function hex(bytes: Bytes): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function joined(first: Bytes, second: Bytes): Bytes {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

/** Returns null for a text that is not base64url. */
export function base64UrlDecode(text: string): Bytes | null {
  if (!/^[\w-]*$/.test(text)) return null
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    )
  } catch {
    return null
  }
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Decodes base58btc without its prefix. Returns null for other characters, or for over 128. */
export function base58Decode(text: string): Bytes | null {
  if (text.length > 128) return null
  let number = 0n
  for (const character of text) {
    const digit = alphabet.indexOf(character)
    if (digit < 0) return null
    number = number * 58n + BigInt(digit)
  }
  const bytes: number[] = []
  for (; number > 0n; number >>= 8n) bytes.unshift(Number(number & 255n))
  const zeros = /^1*/.exec(text)?.[0].length ?? 0
  return new Uint8Array([...Array.from({ length: zeros }, () => 0), ...bytes])
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
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)).getReader()
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.length
      if (length > bytesMax) {
        await reader.cancel()
        return null
      }
      parts.push(value)
    }
  } catch {
    return null
  }
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
