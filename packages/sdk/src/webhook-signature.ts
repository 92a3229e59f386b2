/** Signs and verifies webhooks, in any runtime with WebCrypto. */
import { type Bytes, base64UrlDecode, hex, joined, utf8 } from './bytes.ts'

export interface WebhookOptions {
  /** Seconds by which the receiver's clock may differ from the timestamp. */
  toleranceSeconds?: number
  now?: Date
}

type HeaderSource = Headers | Record<string, string | string[] | undefined>

const signatureName = 'Service-Webhook-Signature'
/** During a rotation the other secret signs the second or the third. */
const signatureNames = [signatureName, `${signatureName}-Next`, `${signatureName}-Previous`]

/**
 * Returns whether a request is genuine and recent: whether one of its signatures fits one of the
 * secrets. `rawBody` is the body as received, before any parser has read it; `headers` are a
 * `Headers` object or those of Node. Throws a `TypeError` if there is no secret to verify with, or
 * if the body was parsed: the mistake is in the program and not in the request.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: HeaderSource,
  secret: string | readonly string[],
  { toleranceSeconds = 300, now = new Date() }: WebhookOptions = {},
): Promise<boolean> {
  const secrets = secretsOf(secret)
  const body = bytesOf(rawBody)
  for (const name of signatureNames) {
    const [t, v1] = signatureIn(headerOf(headers, name))
    if (!/^\d{1,12}$/.test(t) || !/^[0-9a-f]{64}$/i.test(v1)) continue
    if (Math.abs(now.getTime() / 1_000 - Number(t)) > toleranceSeconds) continue
    for (const one of secrets) {
      const key = await keyOf(utf8(one), 'verify')
      const signed = joined([utf8(`${t}.`), body])
      // WebCrypto compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, fromHex(v1), signed)) return true
    }
  }
  return false
}

/** Returns `t` and `v1` of a header, or empty texts. */
function signatureIn(header: string): [t: string, v1: string] {
  const pairs = header.split(',').map((pair) => pair.trim())
  const valueOf = (name: string): string =>
    pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
  return [valueOf('t'), valueOf('v1')]
}

export interface TestWebhook {
  /** Default: the `id` of the body. */
  id?: string
  /** Default: the `type` of the body. */
  type?: string
  /** Default: a random id. */
  delivery?: string
  /** Counts from 1. */
  attempt?: number
  /** The position of the event in the feed. */
  sequence?: number
  isTest?: boolean
  now?: Date
}

/**
 * Returns the headers that the service would send with this body, for tests of a receiver: those of
 * the specification and those of Standard Webhooks.
 */
export async function signTestWebhook(
  rawBody: string | Uint8Array,
  secret: string,
  { now = new Date(), attempt = 1, sequence, isTest = false, ...given }: TestWebhook = {},
): Promise<Record<string, string>> {
  const [key = ''] = secretsOf(secret)
  const body = bytesOf(rawBody)
  const event = eventIn(body)
  const { id = event.id ?? 'evt_test', type = event.type ?? 'test' } = given
  const t = String(Math.floor(now.getTime() / 1_000))
  const own = await digestOf(utf8(key), joined([utf8(`${t}.`), body]))
  const standardKey = base64UrlDecode(key.replace(/^whsec_/, ''))
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Webhooks/1',
    'Service-Webhook-Id': id,
    'Service-Webhook-Event': type,
    'Service-Webhook-Delivery': given.delivery ?? crypto.randomUUID(),
    'Service-Webhook-Timestamp': t,
    [signatureName]: `t=${t},v1=${hex(own)}`,
    'Service-Webhook-Attempt': String(attempt),
    ...(sequence === undefined ? {} : { 'Service-Webhook-Sequence': String(sequence) }),
    ...(isTest ? { 'Service-Webhook-Test': 'true' } : {}),
    // A text that stands for no bytes is a secret of the specification's header alone.
    ...(standardKey !== null && {
      'webhook-id': id,
      'webhook-timestamp': t,
      'webhook-signature': `v1,${base64(await digestOf(standardKey, joined([utf8(`${id}.${t}.`), body])))}`,
    }),
  }
}

/**
 * Returns a fresh signing secret: `whsec_` and 32 random bytes in base64url, drawn again until they
 * have neither `-` nor `_`, because the libraries of Standard Webhooks read plain base64.
 */
export function newWebhookSecret(
  random = (size: number): Uint8Array => crypto.getRandomValues(new Uint8Array(size)),
): string {
  for (;;) {
    const text = base64(random(32)).replace(/=+$/, '')
    if (!/[+/]/.test(text)) return `whsec_${text}`
  }
}

function secretsOf(secret: unknown): string[] {
  const secrets: unknown[] = Array.isArray(secret) ? secret : [secret]
  const isMissing = (one: unknown): boolean => typeof one !== 'string' || one.trim() === ''
  if (secrets.length === 0 || secrets.some(isMissing))
    throw new TypeError(
      'The signing secret is missing. Give the text that begins with whsec_, or a list of them: is the environment variable set?',
    )
  return secrets as string[]
}

function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return utf8(rawBody)
  if (rawBody instanceof Uint8Array) return rawBody
  throw new TypeError(
    'The body is neither text nor bytes. Give it as received, before a parser reads it: await request.text(), or express.raw() in Express. A body that was parsed and written again has another signature.',
  )
}

function eventIn(body: Uint8Array): { id?: string; type?: string } {
  try {
    const { id, type } = Object(JSON.parse(new TextDecoder().decode(body)))
    return {
      ...(typeof id === 'string' ? { id } : {}),
      ...(typeof type === 'string' ? { type } : {}),
    }
  } catch {
    return {}
  }
}

async function digestOf(key: Bytes, signed: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', await keyOf(key, 'sign'), signed))
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

function keyOf(bytes: Bytes, use: 'sign' | 'verify'): ReturnType<typeof crypto.subtle.importKey> {
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [use])
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

function headerOf(headers: HeaderSource, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return typeof found?.[1] === 'string' ? found[1] : ''
}
