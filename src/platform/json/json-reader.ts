/**
 * Pure: reads a text that `JSON.parse` has accepted a second time. The reason: since V8 12.8,
 * `JSON.parse` may take an escaped member name for another name that it saw in an earlier text
 * (`"\""` for `"\\"`: nodejs/node issue 63785). So one caller could change the meaning of the next
 * caller's signed document. Names without an escape and all values are read correctly.
 */
export function readJson(text: string): unknown {
  let at = 0
  return value()

  function value(): unknown {
    space()
    const first = text[at]
    if (first === '{') return object()
    if (first === '[') return array()
    return first === '"' ? string() : scalar()
  }

  /**
   * `fromEntries` keeps `__proto__` a member and the last of two with one name, as `JSON.parse`
   * does.
   */
  function object(): unknown {
    const members: [string, unknown][] = []
    while (next('}')) {
      const name = string()
      space()
      at++
      members.push([name, value()])
    }
    return Object.fromEntries(members)
  }

  function array(): unknown[] {
    const items: unknown[] = []
    while (next(']')) items.push(value())
    return items
  }

  /**
   * Moves past the opening bracket or a comma to the next item. At the closing bracket moves past
   * it and returns false.
   */
  function next(close: '}' | ']'): boolean {
    space()
    if (text[at] !== close) {
      at++
      space()
    }
    if (text[at] !== close) return true
    at++
    return false
  }

  function string(): string {
    const start = at++
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    return String(JSON.parse(text.slice(start, ++at)))
  }

  function scalar(): unknown {
    const start = at
    while (at < text.length && !/[\s,\]}]/.test(text.charAt(at))) at++
    return JSON.parse(text.slice(start, at))
  }

  function space(): void {
    while (at < text.length && /\s/.test(text.charAt(at))) at++
  }
}
