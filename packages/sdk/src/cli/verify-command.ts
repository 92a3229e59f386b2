/** `verify`: checks a credential with the documents that its issuer publishes. */
import { readFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { Client } from '../client.ts'
import { whyFailed } from '../errors.ts'
import { explain } from '../explain.ts'
import { verifyCredential } from '../verify.ts'

type Json = Record<string, unknown>

export interface Checked {
  valid: boolean
  reason: string | null
  message: string
  issuer: string
}

const maxBytes = 4 * 1024 * 1024

/** Throws if the credential cannot be checked: it cannot be read, or its issuer does not answer. */
export async function verifySource(source: string, expectedIssuer?: string): Promise<Checked> {
  const text = await read(source)
  const issuer = issuerOf(text)
  if (expectedIssuer !== undefined && issuer !== expectedIssuer)
    throw new Error(`The credential names the issuer ${issuer}, and not ${expectedIssuer}.`)
  const origin = originOf(issuer)
  const keyDocument = await fetchJson(`${origin}/.well-known/did.json`)
  const verdict = await verifyCredential(text, {
    keyDocument,
    statusLists: await statusListsOf(text, origin),
  })
  if (verdict.reason === 'status_unavailable') throw new Error(explain(verdict))
  const { valid, reason = null } = verdict
  // Only the service has RDF, and only it knows every key: a cache may serve an older did.json.
  const isForService = reason === 'unsupported_form' || reason === 'unknown_key'
  if (!isForService) return { valid, reason, message: explain(verdict), issuer }
  const answer = await new Client({ baseUrl: origin }).verify(text)
  return { valid: answer.valid, reason: answer.reason ?? null, message: answer.message, issuer }
}

/** A file, an address, or `-` for standard input. */
async function read(source: string): Promise<string> {
  if (source === '-') return textOf(process.stdin)
  return /^https?:\/\//.test(source) ? fetchText(source) : readFile(source)
}

/** Throws an error that names the file and says why it cannot be read. */
export function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : String(code)
    throw new Error(`The file ${file} cannot be read: ${why}.`, { cause: error })
  }
}

function issuerOf(text: string): string {
  const document = parsed(text)
  const { issuer } = document
  const id = typeof issuer === 'object' && issuer !== null ? (issuer as Json).id : issuer
  if (typeof id !== 'string') throw new Error('The document is not a credential: it has no issuer.')
  return id
}

function parsed(text: string): Json {
  try {
    const document: unknown = JSON.parse(text)
    if (typeof document === 'object' && document !== null) return document as Json
  } catch {}
  throw new Error(
    'The document is not a JSON object. Give a credential: a file, or an address such as https://scores.example.org/u/ada/credential.json.',
  )
}

/** Returns the address of a did:web. Plain http only for this machine. */
function originOf(issuer: string): string {
  const [, host = ''] = /^did:web:([\w.-]+(?:%3A\d+)?)$/i.exec(issuer) ?? []
  if (host === '') throw new Error(`The issuer ${issuer} is not a did:web, so it has no address.`)
  const authority = decodeURIComponent(host)
  const isLocal = /^(localhost|127\.0\.0\.1)(:|$)/.test(authority)
  return `${isLocal ? 'http' : 'https'}://${authority}`
}

/** The list must be the issuer's own: another one could not prove anything. */
async function statusListsOf(text: string, origin: string): Promise<unknown[]> {
  const { credentialStatus: status } = parsed(text)
  const url = typeof status === 'object' && status !== null && (status as Json).statusListCredential
  if (typeof url !== 'string' || !URL.canParse(url) || new URL(url).origin !== origin) return []
  // In a form that needs no RDF to check.
  return [await fetchJson(`${url}?proof=eddsa-jcs-2022`)]
}

async function fetchJson(url: string): Promise<unknown> {
  const text = await fetchText(url)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${url} answered with something other than JSON.`, { cause: error })
  }
}

async function fetchText(url: string): Promise<string> {
  const signal = AbortSignal.timeout(15_000)
  const response = await fetch(url, { redirect: 'manual', signal }).catch((error: Error) => {
    throw new Error(`${url} cannot be reached: ${whyFailed(error)}`, { cause: error })
  })
  if (!response.ok) throw new Error(`${url} answered with ${response.status} instead of 200.`)
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxBytes) throw new Error(`${url} is longer than ${maxBytes} bytes.`)
  }
  return text + decoder.decode()
}
