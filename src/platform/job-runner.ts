/**
 * Background work: each job runs at once and then again after its pause, until the signal. A failure is logged and the job goes on;
 * every job is a transaction that a crash leaves undone or done, so any number of workers may run.
 */
import { type Bell, createBell } from './bell.ts'
import type { Log } from './observability/log.ts'

export interface Job {
  name: string
  /** Read after each run. */
  everyMs: number
  /** Ends the pause early. */
  bell?: Bell
  /** A long one ends early, in good order, when the signal comes. */
  run(signal: AbortSignal): Promise<unknown>
}

/** Resolves when the signal has come and no job is under way. */
export async function runJobs(jobs: readonly Job[], log: Log, signal: AbortSignal): Promise<void> {
  await Promise.all(jobs.map((job) => runJob(job, log, signal)))
}

async function runJob(job: Job, log: Log, signal: AbortSignal): Promise<void> {
  const { bell = createBell() } = job
  let failing = false
  while (!signal.aborted) {
    try {
      await job.run(signal)
      if (failing) log.info('a job works again', { job: job.name })
      failing = false
    } catch (error) {
      // Said once for each outage, not twice a second.
      if (!failing) log.error('a job fails', error, { job: job.name })
      failing = true
    }
    await bell.pause(job.everyMs, signal)
  }
}
