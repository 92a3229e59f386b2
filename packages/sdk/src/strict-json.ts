/**
 * Reads JSON and finds a text that two JSON readers could read differently, such as one with the
 * same member twice: a signature over it would prove nothing. The limits are those of the service.
 */

export interface StrictJson {
  value: unknown
  /**
   * Whether it has a name twice, a forbidden name, a lone surrogate, a NUL, an inexact number, is
   * too deep or too wide.
   */
  isAmbiguous: boolean
}

const depthMax = 32
const membersMax = 10_000

/** Throws `SyntaxError` for a text that is not JSON. */
export function readStrictJson(text: string): StrictJson {
  let value: unknown = JSON.parse(text)
  let isAmbiguous = false
  // The text is JSON, so commas and colons tell nothing more.
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s",:[\]{}]+|[[\]{}]/g) ?? []
  let at = 0
  let depth = 0
  let [members, items] = [0, 0]
  try {
    // V8 may confuse escaped names in `JSON.parse` (nodejs/node issue 63785), so this reads again.
    value = read()
  } catch {
    // Deeper than the stack.
    isAmbiguous = true
  }
  return { value, isAmbiguous: isAmbiguous || members > membersMax || items > membersMax }

  function read(): unknown {
    const token = tokens[at++] as string
    if (token !== '{' && token !== '[') return scalarOf(token)
    if (++depth > depthMax) isAmbiguous = true
    const all: unknown[] = []
    const named = new Map<unknown, unknown>()
    while (!']}'.includes(tokens[at] as string)) {
      if (token === '[') {
        items++
        all.push(read())
        continue
      }
      members++
      const name = read()
      if (named.has(name) || name === '__proto__') isAmbiguous = true
      named.set(name, read())
    }
    at++
    depth--
    return token === '[' ? all : Object.fromEntries(named)
  }

  function scalarOf(token: string): unknown {
    const scalar: unknown = JSON.parse(token)
    if (typeof scalar === 'number' && !isExact(scalar, token)) isAmbiguous = true
    if (typeof scalar === 'string' && (!scalar.isWellFormed() || scalar.includes('\0')))
      isAmbiguous = true
    return scalar
  }
}

/** 1e400 is read as Infinity, and 2^53 + 1 as 2^53: two documents would have one digest. */
function isExact(number: number, text: string): boolean {
  return keepsDigits(text) && Math.abs(number) < 2 ** 53
}

/**
 * Returns whether the double of a JSON number is written with the digits of `text`. Of
 * `0.10000000000000001`, a reader with exact decimals would read another value.
 */
export function keepsDigits(text: string): boolean {
  // Both stand for one double, so their digits tell whether they are the same decimal.
  const [given = '', kept = ''] = [text, String(Number(text))].map((decimal) =>
    decimal.replace(/e.*|[-.]/gi, '').replace(/^0+/, ''),
  )
  const length = Math.max(given.length, kept.length)
  return given.padEnd(length, '0') === kept.padEnd(length, '0')
}
