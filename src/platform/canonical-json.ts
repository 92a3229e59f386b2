/**
 * JSON Canonicalization Scheme (RFC 8785): members sorted by UTF-16 code units, ECMAScript numbers and strings, no white space.
 * The value must have passed the strict JSON gate, or be made by us: lone surrogates and non-finite numbers are not looked for here.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) {
    let text = '['
    for (let i = 0; i < value.length; i++) text += (i === 0 ? '' : ',') + canonicalJson(value[i])
    return `${text}]`
  }
  const object = value as Record<string, unknown>
  let text = ''
  for (const name of Object.keys(object).sort()) {
    const member = object[name]
    if (member === undefined) continue
    text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`
  }
  return text === '' ? '{}' : `${text}}`
}
