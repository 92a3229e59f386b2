/** `webhooks listen`: brings events to a receiver on this machine, without a tunnel. */
import { createHash, randomBytes } from 'node:crypto'
import type { Client, WebhookEvent } from '../client.ts'
import { signTestWebhook } from '../webhook-signature.ts'
import { readStored, store } from './settings.ts'

export interface Forwarding {
  client: Client
  /** Names the feed: its position is stored for each service and key. */
  feed: string
  receiver: string
  after?: string | undefined
  types?: readonly string[] | undefined
  say(line: string): void
  signal: AbortSignal
}

interface Position {
  after: string
  secret: string
}

const firstWaitMs = 500
const maxWaitMs = 15_000

/**
 * Stores the position behind a page once the receiver has accepted all of its events. After a crash
 * of either side the last page can come again, and none is lost.
 */
export async function forwardEvents(options: Forwarding): Promise<void> {
  const { client, feed, receiver, types, say, signal } = options
  const file = `feed-${createHash('sha256').update(feed).digest('hex').slice(0, 16)}.json`
  const stored = readStored<Position>(file)
  const secret = stored.secret ?? `whsec_${randomBytes(32).toString('base64url')}`
  let after = options.after ?? stored.after ?? '0'
  store(file, { after, secret })
  say(`The signing secret of your receiver: ${secret}`)
  say(`Events behind ${after} go to ${receiver}. Ctrl-C ends.`)
  const listening = client.webhooks.listen({
    after,
    signal,
    ...(types === undefined ? {} : { types }),
  })
  for await (const { event, next } of listening) {
    if (!(await deliver(event, secret, options))) return
    if (next === after) continue
    after = next
    store(file, { after, secret })
  }
}

/** Tries until the receiver answers with 2xx. Returns false if the caller ended it before. */
async function deliver(
  event: WebhookEvent,
  secret: string,
  { receiver, say, signal }: Forwarding,
): Promise<boolean> {
  const body = JSON.stringify(event)
  for (let attempt = 0; !signal.aborted; attempt++) {
    const outcome = await post(receiver, body, {
      ...(await signTestWebhook(body, secret)),
      'Service-Webhook-Id': event.id,
      'Service-Webhook-Event': event.type,
      'Service-Webhook-Delivery': `${event.id}-${attempt + 1}`,
    })
    say(`${event.type} ${event.id}: ${outcome}`)
    if (/^2\d\d$/.test(outcome)) return true
    await waitFor(Math.min(maxWaitMs, firstWaitMs * 2 ** attempt), signal)
  }
  return false
}

async function post(url: string, body: string, headers: Record<string, string>): Promise<string> {
  try {
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual', signal })
    await response.body?.cancel()
    return String(response.status)
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    return cause instanceof Error ? cause.message : String(error)
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
