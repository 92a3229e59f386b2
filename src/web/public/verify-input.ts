/** Pure: the input of a visitor to the verify page. */
import { inflateRawSync } from 'node:zlib'
import { verifyBodyBytesMax } from '../../score-credentials/schema.ts'
import { count } from '../text.ts'

export type VerifyInput =
  | { kind: 'document'; text: string }
  | { kind: 'status'; token: Buffer }
  | { kind: 'problem'; message: string }

/** `given` is a document, the link to a check, or the URL of a status. */
export function readInput(given: string): VerifyInput {
  const text = given.trim()
  if (text === '') return problem('Paste a credential first.')
  const bytes = Buffer.byteLength(text)
  if (bytes > verifyBodyBytesMax)
    return problem(
      `The document has ${count(bytes)} bytes. A credential has at most ${count(verifyBodyBytesMax)}.`,
    )
  const token = /^https?:\/\/[^\s/]+\/\S*score-vc-status\/([0-9a-f]{64})$/.exec(text)?.[1]
  if (token !== undefined) return { kind: 'status', token: Buffer.from(token, 'hex') }
  const packed = /^https?:\/\/\S+#z=([\w-]+)$/.exec(text)?.[1]
  if (packed !== undefined) return unpacked(packed)
  if (hasControlCharacter(text))
    return problem('This is not a text. Paste the JSON of a credential.')
  return { kind: 'document', text }
}

function unpacked(packed: string): VerifyInput {
  try {
    const options = { maxOutputLength: verifyBodyBytesMax }
    const text = inflateRawSync(Buffer.from(packed, 'base64url'), options).toString('utf8')
    return { kind: 'document', text }
  } catch {
    return problem(
      `The link holds no credential: it is cut off, damaged, or unpacks to over ${count(verifyBodyBytesMax)} bytes.`,
    )
  }
}

function problem(message: string): VerifyInput {
  return { kind: 'problem', message }
}

/** Returns whether the text holds a control character other than those of white space. */
function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 9 || (code > 13 && code < 32)) return true
  }
  return false
}
