/**
 * The coalescer: calls that arrive while a batch is out form the next batch. No timer, so a single caller waits for nothing;
 * under load one round trip serves hundreds of calls. One batch is out at a time unless told otherwise, so a batch may lock rows
 * without meeting another batch of the same process.
 */
import { UnavailableError } from './http/errors.ts'
import { patient } from './patience.ts'

export interface CoalesceOptions<Item, Result> {
  /** Shown in errors. */
  name: string
  /** Answers a batch, one result for each item, in the items' order. */
  run(items: readonly Item[]): Promise<readonly Result[]>
  /** Items of one batch at most. */
  batchMax?: number
  /** Batches out at a time; more than one only where they lock nothing. */
  batchesMax?: number
  /** Calls waiting at most; one more is refused with `UnavailableError`. */
  waitingMax?: number
  /** How long a call usually waits for its answer before it is refused with `UnavailableError`. */
  deadlineMs?: number
}

interface Call<Item, Result> {
  item: Item
  /** Milliseconds of the monotonic clock. */
  deadline: number
  resolve(result: Result): void
  reject(error: unknown): void
  settled: boolean
}

export function coalesce<Item, Result>(
  options: CoalesceOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const { name, run, batchMax = 256, batchesMax = 1, waitingMax = 8_192 } = options
  const deadlineMs = patient(options.deadlineMs ?? 800)
  let waiting: Call<Item, Result>[] = []
  const out = new Set<readonly Call<Item, Result>[]>()
  let scheduled = false
  let sweeper: NodeJS.Timeout | undefined

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= waitingMax) {
        reject(new UnavailableError(`${name}: ${waitingMax} calls are waiting`))
        return
      }
      const deadline = performance.now() + deadlineMs
      waiting.push({ item, deadline, resolve, reject, settled: false })
      schedule()
    })

  /** `setImmediate` gathers what the same turn of the event loop brought in. */
  function schedule(): void {
    if (scheduled || out.size === batchesMax) return
    scheduled = true
    setImmediate(() => void runBatch())
  }

  async function runBatch(): Promise<void> {
    scheduled = false
    const batch = waiting.length <= batchMax ? waiting : waiting.slice(0, batchMax)
    waiting = waiting.length <= batchMax ? [] : waiting.slice(batchMax)
    sweeper ??= setInterval(refuseOverdue, deadlineMs / 8)
    out.add(batch)
    if (waiting.length > 0) schedule()
    try {
      const results = await run(batch.map((call) => call.item))
      if (results.length !== batch.length) throw new Error(`${name}: a batch lost its results`)
      for (let i = 0; i < batch.length; i++) {
        const call = batch[i] as Call<Item, Result>
        if (!call.settled) call.resolve(results[i] as Result)
      }
    } catch (error) {
      for (const call of batch) if (!call.settled) call.reject(error)
    }
    out.delete(batch)
    if (waiting.length > 0) schedule()
    else if (out.size === 0) {
      clearInterval(sweeper)
      sweeper = undefined
    }
  }

  /** One timer for all calls, and only while some are under way: a stuck database costs each caller its deadline, no more. */
  function refuseOverdue(): void {
    const now = performance.now()
    const refuse = (call: Call<Item, Result>): boolean => {
      if (call.deadline > now || call.settled) return !call.settled
      call.settled = true
      call.reject(new UnavailableError(`${name}: no answer within ${deadlineMs} ms`))
      return false
    }
    for (const batch of out) batch.forEach(refuse)
    waiting = waiting.filter(refuse)
  }
}
