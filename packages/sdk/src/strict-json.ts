/**
 * Reads JSON and finds a text that two JSON readers could read differently, such as one with the
 * same member twice: a signature over it would prove nothing. The limits are those of the service.
 */

export type StrictJson =
  | { kind: 'value'; value: unknown }
  | { kind: 'ambiguous'; value: unknown; why: string }
  | { kind: 'invalid'; why: string }

const depthMax = 32
const membersMax = 10_000

export function readStrictJson(text: string): StrictJson {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return { kind: 'invalid', why: 'The text is not JSON.' }
  }
  // `JSON.parse` tolerates any depth, the reader below does not.
  if (isTooDeep(text))
    return { kind: 'ambiguous', value: parsed, why: `The JSON is nested deeper than ${depthMax}.` }
  const { value, why } = read(text)
  return why === null ? { kind: 'value', value } : { kind: 'ambiguous', value, why }
}

function isTooDeep(text: string): boolean {
  let depth = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') {
      if (++depth > depthMax) return true
    } else if (token === ']' || token === '}') depth--
  }
  return false
}

/** Reads a text that `JSON.parse` accepts. `why` says what is ambiguous, or is null. */
function read(text: string): { value: unknown; why: string | null } {
  const token = /\s*("(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s,:[\]{}"]+)/gy
  let why: string | null = null
  let members = 0
  let items = 0
  const next = () => token.exec(text)?.[1] ?? ''
  const peek = () => {
    const at = token.lastIndex
    const found = next()
    token.lastIndex = at
    return found
  }
  const value = valueOf(next())
  if (members > membersMax || items > membersMax) why ??= `The JSON has over ${membersMax} members.`
  return { value, why }

  function valueOf(first: string): unknown {
    if (first === '{') return objectOf()
    if (first === '[') return arrayOf()
    if (first.startsWith('"')) return textOf(first)
    const scalar: unknown = JSON.parse(first)
    if (typeof scalar === 'number') why ??= unsafeNumber(scalar, first)
    return scalar
  }

  function objectOf(): unknown {
    const all: [string, unknown][] = []
    const names = new Set<string>()
    for (let first = next(); first !== '}'; first = next()) {
      const name = textOf(first === ',' ? next() : first)
      if (names.has(name)) why ??= 'A member name occurs twice in one object.'
      if (name === '__proto__') why ??= 'A member has a forbidden name.'
      names.add(name)
      members++
      next()
      all.push([name, valueOf(next())])
    }
    return Object.fromEntries(all)
  }

  function arrayOf(): unknown[] {
    const all: unknown[] = []
    for (; peek() !== ']'; items++) {
      const first = next()
      all.push(valueOf(first === ',' ? next() : first))
    }
    next()
    return all
  }

  function textOf(quoted: string): string {
    const decoded = String(JSON.parse(quoted))
    if (!decoded.isWellFormed()) why ??= 'A string holds a lone surrogate.'
    if (decoded.includes('\0')) why ??= 'A string holds a NUL.'
    return decoded
  }
}

/** 1e400 is read as Infinity, and 2^53 + 1 as 2^53: two documents would have one digest. */
function unsafeNumber(number: number, text: string): string | null {
  if (!Number.isFinite(number)) return 'A number is too large.'
  if (Number.isInteger(number) && !Number.isSafeInteger(number))
    return 'An integer is outside the range that is exact.'
  return digitsOf(text) === digitsOf(String(number)) ? null : 'A number has too many digits.'
}

/** Returns the same text for equal decimals: sign, digits without outer zeros, power of ten. */
function digitsOf(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = whole + fraction
  let start = 0
  while (digits[start] === '0') start++
  let end = digits.length
  while (end > start && digits[end - 1] === '0') end--
  if (start === end) return '0'
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
