/**
 * Pure: the credential that Open Badges 3.0 bakes into a picture (section 5.3). The server and the
 * browser share it.
 */

export type BadgeFile =
  | { kind: 'credential'; text: string }
  /** A picture without a credential. */
  | { kind: 'picture' }
  | { kind: 'other' }

/** A picture holds a credential and its pixels. */
export const badgeBytesMax = 1_048_576

/** Says why an input cannot be checked, in the browser or on the page that it gets without script. */
export const inputProblems = {
  pdf: 'A PDF cannot be checked. Scan its QR code.',
  picture: 'This picture holds no credential. Its address leads to one: paste the link.',
  link: 'The link holds no credential: it is cut off, damaged, or unpacks to over 262,144 bytes.',
  tooLong: (bytes: number) =>
    `The document has ${bytes.toLocaleString('en-US')} bytes. A credential has at most 262,144.`,
}

const keyword = 'openbadgecredential'

export function readBadge(bytes: Uint8Array): BadgeFile {
  if (startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return inPng(bytes)
  if (startsWith(bytes, [0xff, 0xd8, 0xff]) || startsWith(bytes, [0x47, 0x49, 0x46]))
    return { kind: 'picture' }
  const start = new TextDecoder().decode(bytes.subarray(0, 2_048))
  return /^\s*</.test(start) && start.includes('<svg')
    ? inSvg(new TextDecoder().decode(bytes))
    : { kind: 'other' }
}

function inSvg(text: string): BadgeFile {
  const [, prefix = ''] = /xmlns:(\w+)="https:\/\/purl\.imsglobal\.org\/ob\/v3p0"/.exec(text) ?? []
  const open = prefix === '' ? -1 : text.indexOf(`<${prefix}:credential`)
  if (open === -1) return { kind: 'picture' }
  const end = text.indexOf(`</${prefix}:credential`, open)
  const inner = text.slice(text.indexOf('>', open) + 1, end === -1 ? open : end)
  const credential = inner.replace(/^\s*<!\[CDATA\[|\]\]>\s*$/g, '').trim()
  return credential.startsWith('{') ? { kind: 'credential', text: credential } : { kind: 'picture' }
}

/** A chunk is a length, a name of four letters, its data and a checksum. */
function inPng(bytes: Uint8Array): BadgeFile {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 8 + view.getUint32(at)
    if (end > bytes.length) break
    const name = new TextDecoder().decode(bytes.subarray(at + 4, at + 8))
    // Keyword, 0, two bytes for compression, which badges do not use, and two texts that end in 0.
    if (name === 'iTXt') {
      const [key = '', ...parts] = new TextDecoder().decode(bytes.subarray(at + 8, end)).split('\0')
      const text = parts.slice(4).join('\0')
      if (key === keyword && text.startsWith('{')) return { kind: 'credential', text }
    }
    at = end + 4
  }
  return { kind: 'picture' }
}

function startsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, i) => bytes[i] === byte)
}
