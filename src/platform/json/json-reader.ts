/**
 * Pure: reads a text that `JSON.parse` has accepted once more, for one reason: from V8 12.8 on `JSON.parse` may take an escaped
 * member name for another name that it saw earlier, in any text (`"\""` for `"\\"`: nodejs/node issue 63785). So one caller could
 * change what the next caller's signed document says. Names without an escape, and all values, are read right.
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

  /** `fromEntries` keeps `__proto__` a member and the last of two with one name, as `JSON.parse` does. */
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

  /** Steps over the opening bracket or a comma to what comes next; at the closing bracket over that, and says false. */
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
