/** Follows the event feed: at least once, in order, from any position. */
import type { Call, CallOptions } from './client-types.ts'
import type { WebhookEventFeed } from './wire.ts'

export interface ListenOptions extends Pick<CallOptions, 'signal'> {
  /** The `next` of an earlier event. By default the feed begins with the oldest event. */
  after?: string
  /** Without `after`: begins with the events since this time. */
  since?: Date
  types?: readonly string[]
  /** Milliseconds between two questions while there is nothing new. */
  pollMs?: number
}

export interface FeedQuery {
  /** The `next` of an earlier page. By default the feed begins with the oldest event. */
  after?: string | undefined
  /** Without `after`: begins with the events since this time. */
  since?: Date | undefined
  types?: readonly string[] | undefined
  limit?: number | undefined
}

export interface FeedEvent {
  event: WebhookEvent
  /** Give it as `after` to continue behind this event. Store it once the event is processed. */
  next: string
}

export type WebhookEvent = WebhookEventFeed['events'][number]

type ReadPage = (query: FeedQuery, options: CallOptions) => Call<WebhookEventFeed>

/**
 * Yields each event with the cursor behind it. If `signal` is aborted, it ends at once and without
 * an error: during a call, during a wait, and between two events of a page. If the network fails,
 * it ends with the error of the call, after its retries.
 */
export async function* listen(
  readPage: ReadPage,
  { after, since, types, pollMs = 1_000, signal }: ListenOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  let from: FeedQuery = after === undefined ? { since } : { after }
  while (!isAborted(signal)) {
    const page = await readPage({ ...from, types, limit: 100 }, signal ? { signal } : {}).catch(
      (error: unknown) => {
        if (isAborted(signal)) return null
        throw error
      },
    )
    if (page === null) return
    for (const [index, event] of page.events.entries()) {
      if (isAborted(signal)) return
      yield { event, next: String(page.positions[index] ?? page.next) }
    }
    from = { after: page.next }
    if (!page.hasMore) await waitFor(pollMs, signal)
  }
}

/** A call, because the compiler takes a property for unchanged over `await` and `yield`. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted ?? false
}

function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, signal?.aborted ? 0 : ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}
