/** Pure: the processes of the service and their background jobs, as their heartbeats tell. */
import type { JobRecord } from '../platform/job-runner.ts'

/** What a process can do. */
export interface Abilities {
  serves: boolean
  /** It holds the file of the active signing key. */
  signs: boolean
  /** It holds a keyring for the secrets of webhooks. */
  opensSecrets: boolean
  /** Its background jobs by name. Null if it runs none. */
  jobs: Readonly<Record<string, JobRecord>> | null
}

export interface ProcessIdentity {
  processId: string
  /** The name of the machine. */
  node: string
  pid: number
  release: string
  startedAt: Date
}

export interface Heartbeat extends ProcessIdentity, Abilities {
  seenAt: Date
  /** Set if the process ended as it was told to. */
  endedAt: Date | null
}

/** A process writes its heartbeat this often. */
export const beatMs = 10_000
/** A process that was not seen for this long is dead. */
const deadAfterMs = 60_000

/** The last run and the last success in any process. */
export interface JobHistory extends JobRecord {
  name: string
  /** The last success is overdue. */
  isLate: boolean
}

export interface Processes {
  live: readonly Heartbeat[]
  /** The releases of the live processes, sorted. */
  releases: readonly string[]
  /** The process that ran background jobs last, whether it lives or not. */
  lastWithJobs: Heartbeat | null
  /** By name: the jobs of the live processes, or of the last one if none lives. */
  jobs: readonly JobHistory[]
}

type WithJobs = Heartbeat & { jobs: NonNullable<Abilities['jobs']> }

export function processesOf(heartbeats: readonly Heartbeat[], now: Date): Processes {
  const live = heartbeats.filter(
    ({ endedAt, seenAt }) => endedAt === null && now.getTime() - seenAt.getTime() < deadAfterMs,
  )
  const withJobs = heartbeats.filter((one): one is WithJobs => one.jobs !== null)
  const lastWithJobs = withJobs.toSorted((a, b) => timeOf(b.seenAt) - timeOf(a.seenAt))[0] ?? null
  const liveWithJobs = withJobs.filter((one) => live.includes(one))
  const present =
    liveWithJobs.length > 0 ? liveWithJobs : [lastWithJobs].filter((one) => one !== null)
  const names = [...new Set(present.flatMap(({ jobs }) => Object.keys(jobs)))].sort()
  return {
    live,
    releases: [...new Set(live.map(({ release }) => release))].sort(),
    lastWithJobs,
    jobs: names.map((name) => historyOf(name, { withJobs, present, now })),
  }
}

interface Seen {
  withJobs: readonly WithJobs[]
  /** The processes whose jobs count. */
  present: readonly WithJobs[]
  now: Date
}

function historyOf(name: string, { withJobs, present, now }: Seen): JobHistory {
  const states = withJobs.flatMap(({ jobs }) => jobs[name] ?? [])
  const last = latest(states, ({ ranAt }) => ranAt)
  const succeededAt = latest(states, (state) => state.succeededAt)?.succeededAt ?? null
  const everyMs = last?.everyMs ?? states[0]?.everyMs ?? 0
  // A process that has just started has not run each job yet.
  const startedAt = latest(present, (one) => one.startedAt)?.startedAt ?? now
  const since = Math.max(timeOf(succeededAt), timeOf(startedAt))
  const isLate = now.getTime() - since > lateAfterMs(everyMs)
  return {
    name,
    everyMs,
    ranAt: last?.ranAt ?? null,
    succeededAt,
    error: last?.error ?? null,
    isLate,
  }
}

/** Long runs, and two runs that fail by chance, are not late. */
function lateAfterMs(everyMs: number): number {
  return Math.max(deadAfterMs, 3 * everyMs) + beatMs
}

function latest<One>(all: readonly One[], time: (one: One) => Date | null): One | undefined {
  return all.toSorted((a, b) => timeOf(time(b)) - timeOf(time(a)))[0]
}

function timeOf(time: Date | null): number {
  return time?.getTime() ?? 0
}

/** Counts the live processes by what they can do. */
export function countAbilities(live: readonly Heartbeat[]): Record<string, number> {
  const count = (can: (one: Heartbeat) => boolean) => live.filter(can).length
  return {
    serve: count(({ serves }) => serves),
    jobs: count(({ jobs }) => jobs !== null),
    jobs_with_key: count(({ jobs, signs }) => jobs !== null && signs),
    jobs_with_keyring: count(({ jobs, opensSecrets }) => jobs !== null && opensSecrets),
  }
}

/** Returns why background work is not done, in words for operators, or null if it is. */
export function jobsFault({ live, lastWithJobs, jobs }: Processes): string | null {
  if (live.every((one) => one.jobs === null)) {
    const since = lastWithJobs === null ? '' : ` since ${lastWithJobs.seenAt.toISOString()}`
    return `no process runs background jobs${since}`
  }
  const late = jobs.filter(({ isLate }) => isLate).map(({ name }) => name)
  return late.length === 0 ? null : `late: ${late.join(', ')}`
}

/**
 * What both a readiness probe and `assay doctor` check, under the same name. The probe answers
 * within a second whether this process should get traffic; doctor says how to repair the set-up.
 */
export type SharedCheck = 'database' | 'schema' | 'engine' | 'signing' | 'payments' | 'jobs'
