/** Follows the event feed: at least once, in order, from any position. */
import type { Call, CallOptions } from './client-types.ts'
import type { WebhookEventFeed } from './wire.ts'

export interface ListenOptions extends Pick<CallOptions, 'signal'> {
  /** The `next` of an earlier event. By default the feed begins with the oldest event. */
  after?: string
  types?: readonly string[]
  /** Milliseconds between two questions while there is nothing new. */
  pollMs?: number
}

export interface FeedQuery {
  /** The `next` of an earlier page. By default the feed begins with the oldest event. */
  after?: string | undefined
  types?: readonly string[] | undefined
  limit?: number | undefined
}

export interface FeedEvent {
  event: WebhookEvent
  /** Give it as `after` to continue behind this page. Store it once its events are processed. */
  next: string
}

export type WebhookEvent = WebhookEventFeed['events'][number]

type ReadPage = (query: FeedQuery, options: CallOptions) => Call<WebhookEventFeed>

/**
 * Yields each event with the cursor behind it. Ends when `signal` is aborted. If the network
 * fails, it ends with the error of the call, after its retries.
 */
export async function* listen(
  readPage: ReadPage,
  { after, types, pollMs = 1_000, signal }: ListenOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  let next = after
  for (;;) {
    if (signal?.aborted) return
    const page = await readPage(
      { after: next, types, limit: 100 },
      signal === undefined ? {} : { signal },
    ).withResponse()
    const { events, hasMore } = page.data
    for (const [index, event] of events.entries()) {
      // Before the last event the cursor is that of the page before: nothing is skipped.
      const isLast = index === events.length - 1
      yield { event, next: isLast ? page.data.next : (next ?? '0') }
    }
    next = page.data.next
    if (!hasMore) await waitFor(pollMs, signal)
  }
}

function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}
