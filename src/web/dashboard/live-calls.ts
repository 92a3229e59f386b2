/**
 * Follows the request log for the streams of this process. One look a second serves all streams,
 * with one statement for their sessions and one for the calls of their accounts. A stream holds no
 * connection of the pool.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { findEntriesAfter, type LogEntry } from '../../accounts/api.ts'
import type { SessionCaller } from '../../edge/http/callers.ts'
import type { PagesContext } from '../page.ts'

export interface Reader {
  session: SessionCaller
  /** The last entry that the reader has. */
  after: number
  /** Aborted when the reader is gone. */
  ended: AbortSignal
  send(calls: readonly LogEntry[]): void
}

export interface LiveCalls {
  /** Sends new calls until the reader is gone or its session has ended. */
  follow(reader: Reader): Promise<void>
}

/** Milliseconds between two looks for new calls. */
const lookEveryMs = 1_000
/** Calls sent at once at most: a page shows no more. */
const sentMax = 50
/**
 * Entries before the last one that are looked at again, because batches of two nodes may be written
 * out of order.
 */
const overlap = 500

interface Following extends Reader {
  last: number
  sent: Set<number>
  leave(error?: unknown): void
}

export function liveCalls({
  callsDb,
  validSessions,
}: Pick<PagesContext, 'callsDb' | 'validSessions'>): LiveCalls {
  const followers = new Set<Following>()
  let isLooking = false

  async function look(looked: readonly Following[]): Promise<void> {
    const valid = await validSessions(looked.map(({ session }) => session))
    for (const follower of looked) if (!valid.has(follower.session.sessionId)) follower.leave()
    const staying = looked.filter((follower) => followers.has(follower))
    if (staying.length === 0) return
    const calls = Map.groupBy(
      await findEntriesAfter(callsDb, startOf(staying), overlap + sentMax),
      ({ accountId }) => accountId,
    )
    for (const follower of staying) sendNews(follower, calls.get(follower.session.accountId) ?? [])
  }

  async function lookUntilAllHaveLeft(): Promise<void> {
    isLooking = true
    while (followers.size > 0) {
      // A reader that joins during a look is part of the next one.
      const looked = [...followers]
      await look(looked).catch((error: unknown) => {
        for (const follower of looked) follower.leave(error)
      })
      await wait(lookEveryMs, undefined, { ref: false })
    }
    isLooking = false
  }

  return {
    follow: (reader) =>
      new Promise((resolve, reject) => {
        const follower: Following = {
          ...reader,
          last: reader.after,
          sent: new Set(),
          leave(error) {
            followers.delete(follower)
            if (error === undefined) resolve()
            else reject(error)
          },
        }
        if (reader.ended.aborted) return resolve()
        reader.ended.addEventListener('abort', () => follower.leave(), { once: true })
        followers.add(follower)
        if (!isLooking) void lookUntilAllHaveLeft()
      }),
  }
}

function fromOf({ after, last }: Following): number {
  return Math.max(after, last - overlap)
}

/** Returns for each account the entry after which the first of its readers looks. */
function startOf(followers: Iterable<Following>): Map<string, number> {
  const starts = new Map<string, number>()
  for (const follower of followers) {
    const { accountId } = follower.session
    const from = fromOf(follower)
    starts.set(accountId, Math.min(starts.get(accountId) ?? from, from))
  }
  return starts
}

function sendNews(follower: Following, calls: readonly LogEntry[]): void {
  const { sent } = follower
  const from = fromOf(follower)
  const news = calls.filter(({ seq }) => seq > from && !sent.has(seq))
  if (news.length === 0) return
  follower.send(news.slice(-sentMax))
  for (const { seq } of news) sent.add(seq)
  follower.last = Math.max(follower.last, ...news.map(({ seq }) => seq))
  for (const seq of sent) if (seq <= follower.last - overlap) sent.delete(seq)
}
