/** Pure: the media type of a body, read by ourselves: a parser that guesses lets two readers see two bodies (decision D18). */

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const mediaType = new RegExp(`^(${token}/${token})[ \\t]*((?:;.*)?)$`)
const parameter = new RegExp(`;[ \\t]*(?:(${token})=(?:(${token})|"([^"\\\\]*)"))?[ \\t]*`, 'y')

/** Whether Content-Type is one of `accepted`, in UTF-8, and Content-Encoding leaves the body as it is. */
export function acceptsMediaType(
  contentType: string | undefined,
  contentEncoding: string | undefined,
  accepted: readonly string[],
): boolean {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') return false
  if (contentType === undefined) return false
  if (accepted.includes(contentType)) return true
  const match = mediaType.exec(contentType.trim())
  if (match === null || !accepted.includes((match[1] as string).toLowerCase())) return false
  const charset = charsetOf(match[2] as string)
  return charset === null || charset === 'utf-8'
}

/** The charset parameter in lower case, null where there is none, and undefined where the parameters cannot be read. */
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
