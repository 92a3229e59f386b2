/** Pure: the input of a visitor to the verify page. Its shape decides what it is. */
import { inflateRawSync } from 'node:zlib'
import { verifyBodyBytesMax } from '../../credentials/schema.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { inputProblems, readBadge } from '../assets/badge-file.ts'
import { counted } from '../text.ts'

export type VerifyInput =
  | { kind: 'document'; text: string; note?: string }
  /** The current credential of a person or of a score. `of` names it in an address. */
  | { kind: 'person'; username: string; of: string }
  | { kind: 'score'; scoreId: string; of: string }
  | { kind: 'status'; token: Buffer }
  | { kind: 'problem'; message: string }

export interface InputContext {
  /** The present address of this service first, then the former ones. */
  publicUrls: readonly string[]
}

const name = '[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]'
const scoreId = '[0-9a-f]{64}'
const personPath = new RegExp(
  `^/(?:u/(${name})(?:/(?:badge\\.svg|credential\\.json))?|api/v1/candidates/(?:@|%40)?(${name})(?:/credential)?)/?$`,
)
const scorePath = new RegExp(`^/api/v1/scores/(${scoreId})(?:/credential)?/?$`)
const statusPath = /\/score-vc-status\/([0-9a-f]{64})$/

export function readInput(given: string, { publicUrls }: InputContext): VerifyInput {
  const text = given.trim()
  if (text === '') return problem('Paste a link, a handle or a credential first.')
  const bytes = Buffer.byteLength(text)
  if (bytes > verifyBodyBytesMax) return problem(inputProblems.tooLong(bytes))
  if (text.startsWith('%PDF-')) return problem(inputProblems.pdf)
  if (hasControlCharacter(text)) return problem(notText)
  if (!/\s/.test(text)) {
    const packed = /^https?:\/\/[^#]+#z=([\w-]*)$/.exec(text)?.[1]
    if (packed !== undefined) return unpacked(packed)
    const url = urlIn(text, publicUrls)
    if (url !== null) return fromUrl(url, publicUrls)
    const known = named(text)
    if (known !== null) return known
  }
  return fromText(text)
}

/** Reads the name in `/verify?of=…`. A document has no place in an address. */
export function readName(of: string, context: InputContext): VerifyInput {
  const input = readInput(of, context)
  return input.kind === 'document' || input.kind === 'status' ? problem(nothingPublic) : input
}

/** A hidden profile and an unknown handle give the same sentence. */
export const nothingPublic = 'There is no public score at this address.'
/** A revoked credential is replaced (decision D58). */
export const noCredential =
  'This score has no credential at the moment. Try again later, or paste the credential that you have.'
const notText = 'This is not a text. Paste the JSON of a credential.'

/** Readers also copy an address without its scheme. */
function urlIn(text: string, publicUrls: readonly string[]): URL | null {
  const isOwn = publicUrls.some((url) => text.startsWith(`${new URL(url).host}/`))
  if (!isOwn && !/^https?:\/\//i.test(text)) return null
  return URL.parse(isOwn ? `${new URL(publicUrls[0] ?? '').protocol}//${text}` : text)
}

function fromUrl(url: URL, publicUrls: readonly string[]): VerifyInput {
  const { host } = new URL(publicUrls[0] ?? '')
  if (!publicUrls.some((one) => new URL(one).host === url.host))
    return problem(
      `This link belongs to ${url.host}. This page checks credentials of ${host}. Open the link’s own site to check it.`,
    )
  const path = url.pathname.toLowerCase()
  const of = url.searchParams.get('of')
  // No link in a link: each level would read the whole rest again.
  if (path === '/verify' && of !== null) return named(of) ?? problem(nothingPublic)
  const [, ...names] = personPath.exec(path) ?? []
  const username = names.find((one) => one !== undefined)
  if (username !== undefined) return person(username)
  const score = scorePath.exec(path)?.[1]
  if (score !== undefined) return { kind: 'score', scoreId: score, of: score }
  const token = statusPath.exec(path)?.[1]
  if (token !== undefined) return { kind: 'status', token: Buffer.from(token, 'hex') }
  return problem(
    `This page of ${url.host} leads to no credential. Paste the link of a profile, a handle or a credential.`,
  )
}

/** A handle or the id of a score. */
function named(text: string): VerifyInput | null {
  const lower = text.toLowerCase()
  const username = new RegExp(`^@?(${name})$`).exec(lower)?.[1]
  if (username !== undefined) return person(username)
  return new RegExp(`^${scoreId}$`).test(lower)
    ? { kind: 'score', scoreId: lower, of: lower }
    : null
}

function person(username: string): VerifyInput {
  return { kind: 'person', username, of: `@${username}` }
}

function fromText(text: string): VerifyInput {
  if (text.startsWith('<')) {
    const badge = readBadge(Buffer.from(text))
    if (badge.kind === 'credential') return { kind: 'document', text: badge.text }
    if (badge.kind === 'picture') return problem(inputProblems.picture)
  }
  if (isJson(text)) return { kind: 'document', text }
  const [start, end] = [text.indexOf('{'), text.lastIndexOf('}')]
  const block = start === -1 ? '' : text.slice(start, end + 1)
  if (block !== '' && block !== text && isJson(block))
    return { kind: 'document', text: block, note: 'Taken from the message around it.' }
  if (start === -1)
    return problem('This is no link, no handle and no JSON. Paste one of the three.')
  if (/[“”„]/.test(text))
    return problem('The quotes were changed by a text program. Ask for the file.')
  const open = openBrackets(text.slice(start))
  if (open > 0)
    return problem(
      `The end is missing: ${counted(open, 'bracket is', 'brackets are')} open. Paste the whole document.`,
    )
  return problem('This is not JSON. Paste the whole document, from the first { to the last }.')
}

function isJson(text: string): boolean {
  return parseStrictJson(Buffer.from(text)).kind !== 'invalid'
}

/** Brackets within a text of the document do not count. */
function openBrackets(text: string): number {
  let open = 0
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\]]/gs))
    open += part === '{' || part === '[' ? 1 : part === '}' || part === ']' ? -1 : 0
  return open
}

function unpacked(packed: string): VerifyInput {
  try {
    const options = { maxOutputLength: verifyBodyBytesMax }
    const text = inflateRawSync(Buffer.from(packed, 'base64url'), options).toString('utf8')
    return { kind: 'document', text }
  } catch {
    return problem(inputProblems.link)
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
