/**
 * Pure: parses the media type of a body strictly. With a lenient parser, two readers may see two
 * different bodies (decision D18).
 */

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const mediaType = new RegExp(`^(${token}/${token})[ \\t]*((?:;.*)?)$`)
const parameter = new RegExp(`;[ \\t]*(?:(${token})=(?:(${token})|"([^"\\\\]*)"))?[ \\t]*`, 'y')

/**
 * Returns null if the body has an `accepted` type, in UTF-8 and without a content encoding.
 * Otherwise returns the message of the 415.
 */
export function mediaTypeFault(
  contentType: string | undefined,
  contentEncoding: string | undefined,
  accepted: readonly string[],
): string | null {
  const send = `Send ${accepted.join(' or ')}`
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity')
    return `The Content-Encoding is ${quotable(contentEncoding)}. ${send} without a Content-Encoding.`
  if (contentType === undefined) return `There is no Content-Type. ${send}.`
  if (accepted.includes(contentType)) return null
  const came = `The Content-Type is ${quotable(contentType)}.`
  const match = mediaType.exec(contentType.trim())
  if (match === null || !accepted.includes((match[1] as string).toLowerCase()))
    return `${came} ${send}.`
  const charset = charsetOf(match[2] as string)
  return charset === null || charset === 'utf-8' ? null : `${came} ${send} in UTF-8.`
}

const quotedMax = 100

/** Returns the start of a header in printable ASCII. */
function quotable(header: string): string {
  const ascii = header.slice(0, quotedMax).replaceAll(/[^ -~]/g, '?')
  if (ascii === '') return 'empty'
  return header.length > quotedMax ? `${ascii}…` : ascii
}

/**
 * Returns the charset parameter in lower case, null if there is none, or undefined if the
 * parameters are malformed.
 */
function charsetOf(parameters: string): string | null | undefined {
  let charset: string | null = null
  parameter.lastIndex = 0
  while (parameter.lastIndex < parameters.length) {
    const match = parameter.exec(parameters)
    if (match === null) return undefined
    if (match[1]?.toLowerCase() !== 'charset') continue
    if (charset !== null) return undefined
    charset = (match[2] ?? match[3] ?? '').toLowerCase()
  }
  return charset
}
