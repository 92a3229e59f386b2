/**
 * The strict JSON gate (decision D7): the only way a body becomes a value. It tells a text that two
 * parsers could read differently, through which a signature or a fingerprint could be forged, from
 * a text that is not JSON at all.
 */
import { isUtf8 } from 'node:buffer'
import { keepsDigits, readStrictJson } from '../../../packages/sdk/src/strict-json.ts'

const depthMax = 32
const membersMax = 10_000

export type StrictJson =
  | { kind: 'value'; value: unknown }
  /**
   * JSON, but with duplicate names, a lone surrogate, an unsafe number, digits that a double loses,
   * a forbidden name, too deep or too wide.
   */
  | { kind: 'ambiguous'; value: unknown; why: string }
  | { kind: 'invalid'; why: string }

export function parseStrictJson(bytes: Uint8Array): StrictJson {
  if (bytes.length === 0) return { kind: 'invalid', why: 'The body is empty.' }
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    return { kind: 'invalid', why: 'The body starts with a byte order mark.' }
  if (!isUtf8(bytes)) return { kind: 'invalid', why: 'The body is not valid UTF-8.' }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'invalid', why: 'The body is not JSON.' }
  }
  const seen = scan(bytes)
  if (seen.escapedNames && seen.depth <= depthMax) value = readJson(text)
  const why = ambiguity(value, seen)
  return why === null ? { kind: 'value', value } : { kind: 'ambiguous', value, why }
}

/**
 * Reads a text that `JSON.parse` accepts a second time. Since V8 12.8, `JSON.parse` may take an
 * escaped member name for another name that it saw in an earlier text (`"\""` for `"\\"`:
 * nodejs/node issue 63785). So one caller could change the meaning of the next caller's document.
 */
export function readJson(text: string): unknown {
  return readStrictJson(text).value
}

interface Scan {
  /** Colons outside strings: as many as the text has object members, duplicates counted. */
  colons: number
  depth: number
  /**
   * Whether any `\u` escape occurs: without one, valid UTF-8 can hold neither a lone surrogate nor
   * a NUL.
   */
  unicodeEscapes: boolean
  /** Whether any member name holds an escape: `JSON.parse` may have misread it. */
  escapedNames: boolean
  /** Whether any number is written with digits that its double does not keep. */
  lostDigits: boolean
}

const quote = 0x22
const backslash = 0x5c

/** One pass over the bytes of a text that `JSON.parse` has accepted. */
function scan(bytes: Uint8Array): Scan {
  let colons = 0
  let depth = 0
  let deepest = 0
  let unicodeEscapes = false
  let escapedNames = false
  let decimals = 0
  let lostDigits = false
  let escaped = false
  const { length } = bytes
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]
    if (byte === quote) {
      escaped = false
      for (i++; bytes[i] !== quote; i++) {
        if (bytes[i] !== backslash) continue
        escaped = true
        i++
        if (bytes[i] === 0x75) unicodeEscapes = true
      }
    } else if (byte === 0x3a) {
      colons++
      if (escaped) escapedNames = true
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (byte === 0x7d || byte === 0x5d) depth--
    else if (byte === 0x2d || isDigit(byte)) {
      const start = i
      let hasExponent = false
      for (; isInNumber(bytes[i + 1]); i++) hasExponent ||= isExponent(bytes[i + 1])
      // A double keeps any 15 digits. JSON with more numbers than members is ambiguous anyway.
      if ((hasExponent || i - start >= 16) && decimals++ < membersMax)
        lostDigits ||= !keepsDigits(Buffer.from(bytes.subarray(start, i + 1)).toString('latin1'))
    }
  }
  return { colons, depth: deepest, unicodeEscapes, escapedNames, lostDigits }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

/** `e` or `E`. */
function isExponent(byte: number | undefined): boolean {
  return byte === 0x65 || byte === 0x45
}

/** A digit, `+`, `-`, `.` or an exponent. */
function isInNumber(byte: number | undefined): boolean {
  return isDigit(byte) || byte === 0x2b || byte === 0x2d || byte === 0x2e || isExponent(byte)
}

function ambiguity(value: unknown, text: Scan): string | null {
  if (text.depth > depthMax) return `The JSON is nested deeper than ${depthMax} levels.`
  if (text.colons > membersMax) return `The JSON has more than ${membersMax} members.`
  let names = 0
  let items = 0
  const found = walk(value)
  if (found !== null) return found
  if (text.lostDigits) return 'A number has more digits than are exact.'
  return names === text.colons ? null : 'A member name occurs twice in one object.'

  function walk(node: unknown): string | null {
    if (typeof node === 'string') return unsafeText(node)
    if (typeof node === 'number') return unsafeNumber(node)
    if (node === null || typeof node !== 'object') return null
    if (Array.isArray(node)) {
      items += node.length
      if (items > membersMax) return `The JSON has more than ${membersMax} members.`
      for (const item of node) {
        const why = walk(item)
        if (why !== null) return why
      }
      return null
    }
    const object = node as Record<string, unknown>
    for (const name of Object.keys(object)) {
      names++
      const why = name === '__proto__' ? 'A member has a forbidden name.' : unsafeText(name)
      const inside = why ?? walk(object[name])
      if (inside !== null) return inside
    }
    return null
  }

  function unsafeText(part: string): string | null {
    if (!text.unicodeEscapes) return null
    if (!part.isWellFormed()) return 'A string holds a lone surrogate.'
    return part.includes('\0') ? 'A string holds a NUL.' : null
  }
}

/** 1e400 parses to Infinity and 2^53+1 to 2^53: two documents would have one digest. */
function unsafeNumber(number: number): string | null {
  if (Number.isSafeInteger(number)) return null
  if (!Number.isFinite(number)) return 'A number is too large.'
  return Number.isInteger(number) ? 'An integer is outside the range that is exact.' : null
}
