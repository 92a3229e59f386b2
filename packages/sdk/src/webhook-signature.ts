/** Verifies the signature of a webhook, in any runtime with WebCrypto. */
import { type Bytes, hex, joined, utf8 } from './bytes.ts'

export interface WebhookOptions {
  /** Seconds by which the receiver's clock may differ from the timestamp. */
  toleranceSeconds?: number
  now?: Date
}

type HeaderSource = Headers | Record<string, string | string[] | undefined>

const signatureName = 'Service-Webhook-Signature'

/**
 * Returns whether a request is genuine and recent. `rawBody` is the body as received, before any
 * parser has read it; `headers` are a `Headers` object or those of Node.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: HeaderSource,
  secret: string,
  { toleranceSeconds = 300, now = new Date() }: WebhookOptions = {},
): Promise<boolean> {
  const pairs = headerOf(headers, signatureName).split(',')
  const valueOf = (name: string): string =>
    pairs
      .map((pair) => pair.trim())
      .find((pair) => pair.startsWith(`${name}=`))
      ?.slice(name.length + 1) ?? ''
  const [t, v1] = [valueOf('t'), valueOf('v1')]
  if (!/^\d{1,12}$/.test(t) || !/^[0-9a-f]{64}$/i.test(v1)) return false
  if (Math.abs(now.getTime() / 1_000 - Number(t)) > toleranceSeconds) return false
  // WebCrypto compares in constant time.
  const key = await keyOf(secret, 'verify')
  return crypto.subtle.verify('HMAC', key, fromHex(v1), signedBytes(t, rawBody))
}

/** Returns the headers that the service would send with this body, for tests of a receiver. */
export async function signTestWebhook(
  rawBody: string | Uint8Array,
  secret: string,
  { now = new Date() }: Pick<WebhookOptions, 'now'> = {},
): Promise<Record<string, string>> {
  const t = String(Math.floor(now.getTime() / 1_000))
  const key = await keyOf(secret, 'sign')
  const digest = await crypto.subtle.sign('HMAC', key, signedBytes(t, rawBody))
  return {
    'Content-Type': 'application/json',
    'Service-Webhook-Timestamp': t,
    [signatureName]: `t=${t},v1=${hex(new Uint8Array(digest))}`,
  }
}

function keyOf(secret: string, use: 'sign' | 'verify'): ReturnType<typeof crypto.subtle.importKey> {
  return crypto.subtle.importKey('raw', utf8(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    use,
  ])
}

function signedBytes(timestamp: string, body: string | Uint8Array): Bytes {
  return joined([utf8(`${timestamp}.`), typeof body === 'string' ? utf8(body) : body])
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

function headerOf(headers: HeaderSource, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return typeof found?.[1] === 'string' ? found[1] : ''
}
