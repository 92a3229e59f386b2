/**
 * Sends a call until it has an answer: with a time limit and a size limit for each attempt, and
 * with the same idempotency key for all of them, so a retry is never charged or created twice.
 */
import type { Answer, CallOptions, ClientOptions, Json, RateLimit } from './client-types.ts'
import {
  AssayError,
  ConnectionError,
  errorOf,
  PaymentRequiredError,
  TimeoutError,
  UnavailableError,
  whyFailed,
} from './errors.ts'
import { payFor } from './payment.ts'

export interface Question extends CallOptions {
  method?: 'GET' | 'POST' | 'DELETE'
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  /** A JSON text to send as it is, instead of `body`. */
  text?: string
  /** The service charges or creates something, so the call has an idempotency key. */
  isOnce?: boolean
  /** Sent without the key: free, and counted by address. */
  isAnonymous?: boolean
}

const interfaceVersion = '2026-05-14'
const answerMaxBytes = 16 * 1024 * 1024
const errorMaxBytes = 64 * 1024
const firstWaitMs = 250
const maxWaitMs = 4_000

export class Transport {
  readonly baseUrl: string
  readonly #options: ClientOptions
  readonly #timeoutMs: number
  readonly #maxRetries: number

  constructor(options: ClientOptions) {
    const { baseUrl, apiKey, sandbox, timeoutMs = 30_000, maxRetries = 3 } = options
    const { protocol, href, search, hash, username, password } = URL.canParse(baseUrl)
      ? new URL(baseUrl)
      : new URL('about:blank')
    if (!/^https?:$/.test(protocol) || search + hash + username + password !== '')
      throw new TypeError(
        'The address of the service must begin with http:// or https://, without query or credentials, as in https://scores.example.org.',
      )
    if (apiKey !== undefined && !/^svc_(live|test)_[\w-]+$/.test(apiKey))
      throw new TypeError('apiKey must be a key of the service: svc_live_… or svc_test_….')
    if (sandbox === true && apiKey?.startsWith('svc_live_'))
      throw new TypeError('The sandbox takes a test key: svc_test_….')
    this.baseUrl = href.replace(/\/+$/, '')
    this.#options = options
    this.#timeoutMs = timeoutMs
    this.#maxRetries = maxRetries
  }

  async send<Value>(question: Question): Promise<Answer<Value>> {
    const headers = this.#headers(question)
    let isPaid = false
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt<Value>(question, headers)
      } catch (error) {
        const { pay } = this.#options
        const challenge = error instanceof PaymentRequiredError ? error.challenge : null
        if (challenge !== null && pay !== undefined && !isPaid) {
          headers.set('X-PAYMENT', await payFor(challenge, pay, this.#url(question)))
          isPaid = true
          attempt--
          continue
        }
        const waitMs = this.#waitMs(error, attempt)
        if (waitMs === null) throw error
        await pause(waitMs, question.signal)
      }
    }
  }

  /** Returns null if a retry is useless, forbidden, or would have to wait too long. */
  #waitMs(error: unknown, attempt: number): number | null {
    if (attempt >= this.#maxRetries || !(error instanceof AssayError)) return null
    const { retryAfterSeconds: seconds = null, status = 0 } = error as Partial<UnavailableError>
    const isWorthIt =
      error instanceof ConnectionError || error instanceof UnavailableError || status === 429
    if (!isWorthIt) return null
    if (seconds !== null && seconds * 1_000 > this.#timeoutMs) return null
    const random = Math.random() * Math.min(maxWaitMs, firstWaitMs * 2 ** attempt)
    return random + (seconds ?? 0) * 1_000
  }

  #url({ path, query = {} }: Question): string {
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) search.set(name, String(value))
    return `${this.baseUrl}${path}${search.size === 0 ? '' : `?${search.toString()}`}`
  }

  #headers({ isOnce, isAnonymous, idempotencyKey, body, text }: Question): Headers {
    const { apiKey, version = interfaceVersion } = this.#options
    const headers = new Headers({ Accept: 'application/json', 'Service-Version': version })
    if (apiKey !== undefined && isAnonymous !== true)
      headers.set('Authorization', `Bearer ${apiKey}`)
    if (body !== undefined || text !== undefined) headers.set('Content-Type', 'application/json')
    const key = idempotencyKey ?? (isOnce === true ? crypto.randomUUID() : undefined)
    if (key !== undefined) headers.set('Idempotency-Key', key)
    return headers
  }

  async #attempt<Value>(question: Question, headers: Headers): Promise<Answer<Value>> {
    const { method = 'GET', body, text, signal } = question
    signal?.throwIfAborted()
    const late = AbortSignal.timeout(this.#timeoutMs)
    const either = signal === undefined ? late : AbortSignal.any([late, signal])
    const send = this.#options.fetch ?? fetch
    try {
      const response = await send(this.#url(question), {
        method,
        headers,
        body: text ?? (body === undefined ? null : JSON.stringify(body)),
        // The key must not follow a redirect to another host.
        redirect: 'manual',
        signal: either,
      })
      return await this.#read<Value>(response, either)
    } catch (error) {
      if (error instanceof AssayError) throw error
      signal?.throwIfAborted()
      if (late.aborted)
        throw new TimeoutError(`No whole answer within ${this.#timeoutMs} ms.`, {
          error: 'timeout',
        })
      throw new ConnectionError(`No whole answer: ${this.#withoutKey(whyFailed(error))}`, {
        error: 'connection_failed',
      })
    }
  }

  async #read<Value>(response: Response, signal: AbortSignal): Promise<Answer<Value>> {
    const { status, headers } = response
    const headerOf = (name: string): string | null => {
      const value = headers.get(name)
      return value === null ? null : this.#withoutKey(value)
    }
    const requestId = headerOf('x-request-id')
    if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
      await response.body?.cancel()
      throw new RedirectRefusedError(status, requestId)
    }
    const maxBytes = response.ok ? answerMaxBytes : errorMaxBytes
    const text = await readText(response, maxBytes, signal)
    const data = parsed(text)
    if (response.ok && data === undefined)
      throw new ConnectionError(
        `The answer with status ${status} is not JSON of at most ${maxBytes} bytes.`,
        { error: 'invalid_answer', status, requestId },
      )
    if (!response.ok) {
      const body = JSON.parse(this.#withoutKey(JSON.stringify(isJson(data) ? data : {})))
      throw errorOf({
        status,
        requestId,
        docsUrl: linkOf(headerOf('link') ?? '', 'help'),
        retryAfterSeconds: secondsUntil(headers.get('retry-after')),
        body,
      })
    }
    return {
      data: data as Value,
      status,
      requestId,
      creditsCharged: whole(headers.get('service-credits-charged')),
      creditsRemaining: whole(headers.get('service-credits-remaining')),
      rateLimits: rateLimitsOf(headers.get('ratelimit')),
      headers,
    }
  }

  /** Removes the key from a text: a server or a proxy may repeat the request in its answer. */
  #withoutKey(text: string): string {
    const { apiKey } = this.#options
    return apiKey === undefined ? text : text.replaceAll(apiKey, '[key]')
  }
}

class RedirectRefusedError extends AssayError {
  constructor(status: number, requestId: string | null) {
    super('The service answered with a redirect, which is not followed: check baseUrl.', {
      error: 'redirect_refused',
      // A browser does not say which redirect it was.
      ...(status === 0 ? {} : { status }),
      requestId,
    })
  }
}

/** Reads at most `maxBytes`. Returns undefined for a longer body, which is not read to its end. */
async function readText(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const stop = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    const decoder = new TextDecoder()
    let [text, length] = ['', 0]
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) return text + decoder.decode()
      length += value.byteLength
      if (length > maxBytes) {
        stop()
        return undefined
      }
      text += decoder.decode(value, { stream: true })
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** Reads `Retry-After`: a number of seconds, or a date. */
function secondsUntil(text: string | null): number | null {
  if (text === null) return null
  const at = Date.parse(text)
  return whole(text) ?? (Number.isNaN(at) ? null : Math.max(0, (at - Date.now()) / 1_000))
}

function linkOf(header: string, relation: string): string | null {
  for (const [, url = '', found] of header.matchAll(/<([^>]*)>\s*;\s*rel="([^"]*)"/g))
    if (found === relation) return url
  return null
}

/** Reads `"minute";r=599;t=1, "day";r=9;t=60`. */
function rateLimitsOf(text: string | null): RateLimit[] {
  return [...(text ?? '').matchAll(/"([^"]*)";r=(\d+);t=(\d+)/g)].map(
    ([, policy = '', remaining, reset]) => ({
      policy,
      remaining: Number(remaining),
      resetSeconds: Number(reset),
    }),
  )
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
