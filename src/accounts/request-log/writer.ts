/**
 * Writes the request log off the request's way: calls gather in a bounded buffer, and a batch is
 * written four times a second. If the database does not take a batch, or the buffer is full, calls
 * are dropped and counted; no request ever waits for the log.
 */
import type { CallLog, CallRecord } from '../../edge/http/call-log.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { coarseNetwork } from '../../platform/networks.ts'
import { insertEntries } from './store.ts'

export interface CallWriter extends CallLog {
  /** Calls that were dropped since the start. */
  dropped(): number
  /** Writes the calls in the buffer and ends. */
  close(): Promise<void>
}

export interface CallWriterOptions {
  /** A pool of its own with `synchronousCommit: 'off'`: a batch need not wait for the disk. */
  db: Queryable
  /** Called once when batches begin to fail. */
  onOutage(error: unknown): void
  bufferMax?: number
  everyMs?: number
}

const causeBytesMax = 300

/** A contract with a long rule loses its cause, not its call. */
function causeText(cause: object | null): string | null {
  const text = cause === null ? null : JSON.stringify(cause)
  return text === null || Buffer.byteLength(text) > causeBytesMax ? null : text
}

/** Rows of one statement. */
const batchMax = 1_000

export function callWriter(options: CallWriterOptions): CallWriter {
  const { db, onOutage, bufferMax = 10_000, everyMs = 250 } = options
  let buffer: CallRecord[] = []
  let dropped = 0
  let isFailing = false
  let writing: Promise<void> | null = null
  const timer = setInterval(() => void flush(), everyMs)
  timer.unref()

  /** Writes what is in the buffer now. One batch is under way at a time. */
  function flush(): Promise<void> {
    writing ??= writeAll().finally(() => {
      writing = null
    })
    return writing
  }

  async function writeAll(): Promise<void> {
    while (buffer.length > 0) {
      const batch = buffer.slice(0, batchMax)
      buffer = buffer.slice(batchMax)
      await writeBatch(batch)
    }
  }

  async function writeBatch(batch: readonly CallRecord[]): Promise<void> {
    try {
      await insertEntries(
        db,
        batch.map(({ address, cause, ...entry }) => ({
          ...entry,
          cause: causeText(cause),
          network: coarseNetwork(address),
        })),
      )
      isFailing = false
    } catch (error) {
      dropped += batch.length
      if (!isFailing) onOutage(error)
      isFailing = true
    }
  }

  return {
    add(record) {
      if (buffer.length < bufferMax) buffer.push(record)
      else dropped++
    },
    dropped: () => dropped,
    async close() {
      clearInterval(timer)
      await flush()
      // Calls that ended while the last batch was written.
      await flush()
    },
  }
}
