/** `webhooks`: brings events to a receiver on this machine, without a tunnel. */
import { createHash, randomBytes } from 'node:crypto'
import type { Client } from '../client.ts'
import { ConnectionError, RateLimitError, UnavailableError, whyFailed } from '../errors.ts'
import type { WebhookEvent } from '../listen.ts'
import { newWebhookSecret, signTestWebhook, type TestWebhook } from '../webhook-signature.ts'
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
  since?: Date | undefined
  types?: readonly string[] | undefined
  signal: AbortSignal
}

interface Position {
  after?: string
  /** Without `after`: the time at which the first run began. */
  since?: string
  secret: string
}

const firstWaitMs = 500
const maxWaitMs = 15_000

/** Where the feed was, and the secret that signs for the receiver: a new one the first time. */
function positionOf(feed: string): Position & { file: string } {
  const file = `feed-${createHash('sha256').update(feed).digest('hex').slice(0, 16)}.json`
  const stored = readStored<Position>(file)
  return { ...stored, secret: stored.secret ?? newWebhookSecret(), file }
}

/**
 * Stores the position behind a page once the receiver has accepted all of its events. After a crash
 * of either side the last page can come again, and none is lost. If the service does not answer,
 * the command waits for it.
 */
export async function forwardEvents(options: Forwarding): Promise<void> {
  const { feed, receiver, say, signal } = options
  const { file, secret, ...stored } = positionOf(feed)
  const position: Position = { ...placeOf(options, stored), secret }
  store(file, position)
  say(`The signing secret of your receiver: ${secret}`, { secret })
  const { after = null, since = null } = position
  const from = after === null ? `since ${since}` : `behind ${after}`
  say(`Events ${from} go to ${receiver}. Ctrl-C ends.`, { after, since, receiver })
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

/** Returns where the feed begins: where the caller says, where the last run ended, or now. */
function placeOf(
  { after, since }: Pick<Forwarding, 'after' | 'since'>,
  stored: Omit<Position, 'secret'>,
): Omit<Position, 'secret'> {
  if (after !== undefined) return { after }
  if (since !== undefined) return { since: since.toISOString() }
  if (stored.after !== undefined) return { after: stored.after }
  return { since: stored.since ?? new Date().toISOString() }
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
  const { after, since = 0, secret } = position
  const listening = client.webhooks.listen({
    ...(after === undefined ? { since: new Date(since) } : { after }),
    signal,
    ...(types === undefined ? {} : { types }),
  })
  for await (const { event, next } of listening) {
    const delivering = { sequence: Number(next), receiver, say, signal, secret }
    if (!(await deliver(event, delivering))) return
    position.after = next
    advance()
  }
}

interface Delivering extends Omit<Receiving, 'feed'> {
  secret: string
  sequence: number
  signal: AbortSignal
}

/** Tries until the receiver answers with 2xx. Returns false if the caller ended it before. */
async function deliver(event: WebhookEvent, delivering: Delivering): Promise<boolean> {
  const { signal, sequence } = delivering
  for (let attempt = 0; !signal.aborted; attempt++) {
    if (await post(event, { attempt: attempt + 1, sequence }, delivering)) return true
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
  const { file, secret, ...place } = positionOf(feed)
  store(file, { ...place, secret })
  const id = `evt_test_${randomBytes(16).toString('hex')}`
  const event = { ...example, id, createdAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z') }
  say(`The signing secret of your receiver: ${secret}`, { secret })
  return post(event as unknown as WebhookEvent, { isTest: true }, { receiver, say, secret })
}

export const eventTypes = Object.keys(exampleEvents)

/** Signs and posts an event, and says what the receiver answered. */
async function post(
  event: WebhookEvent,
  about: TestWebhook,
  { receiver, say, secret }: Omit<Delivering, 'signal' | 'sequence'>,
): Promise<boolean> {
  const body = JSON.stringify(event)
  const { status, fault } = await answerOf(
    receiver,
    body,
    await signTestWebhook(body, secret, about),
  )
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
    return { status: null, fault: whyFailed(error) }
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
