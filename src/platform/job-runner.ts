/**
 * Background jobs: each job runs at once and again after its pause, until the signal. A failure is
 * logged and the job goes on. Every job is a transaction that a crash leaves undone or done, so any
 * number of processes may run the same jobs.
 */

import type { Log } from './observability/log.ts'
import { createWakeUp, type WakeUp } from './wake-up.ts'

export interface Job {
  name: string
  /** Read after each run. */
  everyMs: number
  /** Ends the wait between two runs early. */
  wakeUp?: WakeUp
  /** A long run ends early, at the next safe point, when the signal comes. */
  run(signal: AbortSignal): Promise<unknown>
}

/** Resolves when the signal has come and no job is under way. */
export async function runJobs(jobs: readonly Job[], log: Log, signal: AbortSignal): Promise<void> {
  await Promise.all(jobs.map((job) => runJob(job, log, signal)))
}

async function runJob(job: Job, log: Log, signal: AbortSignal): Promise<void> {
  const { wakeUp = createWakeUp() } = job
  let failing = false
  while (!signal.aborted) {
    try {
      await job.run(signal)
      if (failing) log.info('a job works again', { job: job.name })
      failing = false
    } catch (error) {
      // Logged once for each outage.
      if (!failing) log.error('a job fails', error, { job: job.name })
      failing = true
    }
    await wakeUp.wait(job.everyMs, signal)
  }
}
