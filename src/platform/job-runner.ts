/**
 * Background jobs: each job runs soon after the start and again after its pause, until the signal.
 * A failure is logged and the job goes on. Every job is a transaction that a crash leaves undone or
 * done, so any number of processes may run the same jobs.
 */
import { systemClock } from './clock.ts'
import { sqlState } from './db/db.ts'
import { UnavailableError } from './errors.ts'
import { type Log, textOf } from './observability/log.ts'
import { startSpan, traced } from './observability/tracing.ts'

export interface Job {
  name: string
  /** Read after each run. */
  everyMs: number
  /** Ends the wait between two runs early. */
  wakeUp?: WakeUp
  /** A long run ends early, at the next safe point, when the signal comes. */
  run(signal: AbortSignal): Promise<unknown>
}

/** The runs of a job in this process. */
export interface JobRecord {
  everyMs: number
  ranAt: Date | null
  succeededAt: Date | null
  /** The message of the last run if it failed. */
  error: string | null
}

/** The records of jobs by name. */
export type JobRecords = Map<string, JobRecord>

interface RunOptions {
  log: Log
  signal: AbortSignal
  /** Gets a record of each job. */
  records?: JobRecords
  /** Milliseconds of a clock that never goes back. */
  elapsedMs?: () => number
}

/**
 * Jobs that start together would wait for one another's database connections, and the last ones
 * would fail.
 */
const startsApartMs = 40
/**
 * A job that failed waits this long, and twice as long after each further failure, but at most its
 * usual time. So a short outage delays an hourly job by minutes, and a defect does not run each
 * minute.
 */
const failedAgainMs = 60_000
/** A job that keeps failing is logged this often, and so is one that works and fails in turn. */
const failureLoggedEveryMs = 60_000

/** Resolves when the signal has come and no job is under way. The most frequent jobs start first. */
export async function runJobs(jobs: readonly Job[], options: RunOptions): Promise<void> {
  const inOrder = jobs.toSorted((a, b) => a.everyMs - b.everyMs)
  await Promise.all(inOrder.map((job, place) => runJob(job, place * startsApartMs, options)))
}

async function runJob(
  job: Job,
  startMs: number,
  { log, signal, records = new Map(), elapsedMs = () => performance.now() }: RunOptions,
): Promise<void> {
  const { name, wakeUp = createWakeUp() } = job
  const record: JobRecord = { everyMs: job.everyMs, ranAt: null, succeededAt: null, error: null }
  records.set(name, record)
  let loggedAt = Number.NEGATIVE_INFINITY
  let isLogged = false
  let failures = 0
  if (startMs > 0) await wakeUp.wait(startMs, signal)
  while (!signal.aborted) {
    try {
      await traced(startSpan(name), () => job.run(signal))
      if (isLogged) log.info('a job works again', { job: name })
      isLogged = false
      record.error = null
      record.succeededAt = systemClock()
    } catch (error) {
      if (elapsedMs() - loggedAt >= failureLoggedEveryMs) {
        if (error instanceof UnavailableError && !isTimeout(error.cause)) {
          const why = error.cause === undefined ? [error] : [error, error.cause]
          log.warn('a job fails', { job: name, why: why.map(textOf).join(': ') })
        } else log.error('a job fails', error, { job: name })
        loggedAt = elapsedMs()
        isLogged = true
      }
      record.error = textOf(error)
    }
    record.ranAt = systemClock()
    record.everyMs = job.everyMs
    failures = record.error === null ? 0 : failures + 1
    const againMs = failures === 0 ? job.everyMs : failedAgainMs * 2 ** (failures - 1)
    await wakeUp.wait(Math.min(job.everyMs, againMs), signal)
  }
}

/**
 * While the database is away every job fails, so its line is short. A timeout of a statement or a
 * lock may be a fault of the job itself, and only the stack says which statement it was.
 */
function isTimeout(cause: unknown): boolean {
  return /^(57014|55P03)$/.test(sqlState(cause) ?? '')
}

/**
 * A wait that other code of the same process can end early. A wake-up is a hint that there is work;
 * work is found without it too, later.
 */
export interface WakeUp {
  /** Ends the wait under way. If there is none, the next wait ends at once. */
  notify(): void
  /**
   * Resolves after `ms` milliseconds, on `notify` or on the signal, whichever is first. Only one
   * caller waits at a time.
   */
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

export function createWakeUp(): WakeUp {
  let isNotified = false
  let end: (() => void) | undefined
  return {
    notify() {
      isNotified = true
      end?.()
    },
    async wait(ms, signal) {
      if (!isNotified && !signal?.aborted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          end = () => {
            clearTimeout(timer)
            resolve()
          }
          signal?.addEventListener('abort', end, { once: true })
        })
      if (end !== undefined) signal?.removeEventListener('abort', end)
      end = undefined
      isNotified = false
    },
  }
}
