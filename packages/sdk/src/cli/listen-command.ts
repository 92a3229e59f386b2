/** `webhooks`: brings events to a receiver on this machine, without a tunnel. */
import { createHash, randomBytes } from 'node:crypto'
import type { Client } from '../client.ts'
import { ConnectionError, RateLimitError, UnavailableError } from '../errors.ts'
import type { WebhookEvent } from '../listen.ts'
import { signTestWebhook } from '../webhook-signature.ts'
import { exampleEvents } from './example-events.ts'
import { readStored, store } from './settings.ts'

/** Prints a line for a person, or the facts as JSON. */
export type Say = (line: string, facts: object) => void

interface Receiving {
  /** Names the feed: position and secret are stored for each service and key. */
  feed: string
  receiver: string
  say: Say
}

export interface Forwarding extends Receiving {
  client: Client
  after?: string | undefined
  types?: readonly string[] | undefined
  signal: AbortSignal
}

interface Position {
  after: string
  secret: string
}

const firstWaitMs = 500
const maxWaitMs = 15_000

/** Where the feed was, and the secret that signs for the receiver: a new one the first time. */
function positionOf(feed: string): Position & { file: string } {
  const file = `feed-${createHash('sha256').update(feed).digest('hex').slice(0, 16)}.json`
  const stored = readStored<Position>(file)
  const secret = stored.secret ?? `whsec_${randomBytes(32).toString('base64url')}`
  return { after: stored.after ?? '0', secret, file }
}

/**
 * Stores the position behind a page once the receiver has accepted all of its events. After a crash
 * of either side the last page can come again, and none is lost. If the service does not answer,
 * the command waits for it.
 */
export async function forwardEvents(options: Forwarding): Promise<void> {
  const { feed, receiver, say, signal } = options
  const { file, secret, ...stored } = positionOf(feed)
  const position = { after: options.after ?? stored.after, secret }
  store(file, position)
  say(`The signing secret of your receiver: ${secret}`, { secret })
  say(`Events behind ${position.after} go to ${receiver}. Ctrl-C ends.`, {
    after: position.after,
    receiver,
  })
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      await followFeed(options, position, () => {
        attempt = 0
        store(file, position)
      })
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
      const { message } = error
      say(`The feed cannot be read: ${message}. The command tries again.`, { waiting: message })
      await waitFor(waitMs(attempt), signal)
    }
  }
}

function isPassing(error: unknown): error is Error {
  return (
    error instanceof ConnectionError ||
    error instanceof UnavailableError ||
    error instanceof RateLimitError
  )
}

/** Calls `advance` with each new position. Ends with the signal. */
async function followFeed(
  { client, types, receiver, say, signal }: Forwarding,
  position: Position,
  advance: () => void,
): Promise<void> {
  const listening = client.webhooks.listen({
    after: position.after,
    signal,
    ...(types === undefined ? {} : { types }),
  })
  for await (const { event, next } of listening) {
    if (!(await deliver(event, { receiver, say, signal, secret: position.secret }))) return
    if (next === position.after) continue
    position.after = next
    advance()
  }
}

interface Delivering extends Omit<Receiving, 'feed'> {
  secret: string
  signal: AbortSignal
}

/** Tries until the receiver answers with 2xx. Returns false if the caller ended it before. */
async function deliver(event: WebhookEvent, delivering: Delivering): Promise<boolean> {
  const { signal } = delivering
  for (let attempt = 0; !signal.aborted; attempt++) {
    const delivery = `${event.id}-${attempt + 1}`
    if (await post(event, { 'Service-Webhook-Delivery': delivery }, delivering)) return true
    await waitFor(waitMs(attempt), signal)
  }
  return false
}

function waitMs(attempt: number): number {
  return Math.min(maxWaitMs, firstWaitMs * 2 ** attempt)
}

/** Posts a fictional event of a type once. Returns whether the receiver accepted it, or null. */
export async function triggerEvent(
  type: string,
  { feed, receiver, say }: Receiving,
): Promise<boolean | null> {
  const example = exampleEvents[type]
  if (example === undefined) return null
  const { file, after, secret } = positionOf(feed)
  store(file, { after, secret })
  const id = `evt_test_${randomBytes(16).toString('hex')}`
  const event = { ...example, id, createdAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z') }
  say(`The signing secret of your receiver: ${secret}`, { secret })
  const headers = { 'Service-Webhook-Delivery': `${id}-1`, 'Service-Webhook-Test': 'true' }
  return post(event as unknown as WebhookEvent, headers, { receiver, say, secret })
}

export const eventTypes = Object.keys(exampleEvents)

/** Signs and posts an event, and says what the receiver answered. */
async function post(
  event: WebhookEvent,
  headers: Record<string, string>,
  { receiver, say, secret }: Omit<Delivering, 'signal'>,
): Promise<boolean> {
  const body = JSON.stringify(event)
  const signed = {
    ...(await signTestWebhook(body, secret)),
    'Service-Webhook-Id': event.id,
    'Service-Webhook-Event': event.type,
    ...headers,
  }
  const { status, fault } = await answerOf(receiver, body, signed)
  const { id, type } = event
  say(`${type} ${id}: ${fault ?? status}`, { type, id, status, fault })
  return status !== null && status >= 200 && status < 300
}

interface ReceiverAnswer {
  status: number | null
  /** Why there is no status. */
  fault: string | null
}

async function answerOf(
  url: string,
  body: string,
  headers: Record<string, string>,
): Promise<ReceiverAnswer> {
  try {
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual', signal })
    await response.body?.cancel()
    return { status: response.status, fault: null }
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    return { status: null, fault: cause instanceof Error ? cause.message : String(error) }
  }
}

function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
