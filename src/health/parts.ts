/** Pure: the parts of the service in the words of its users, and the state of each. */
import type { JobHistory } from './processes.ts'

export const partStates = ['works', 'limited', 'fails'] as const
export type PartState = (typeof partStates)[number]

interface Part {
  title: string
  text: string
  /** A part of requests needs the database. The others need these background jobs. */
  jobs: readonly string[] | null
}

/** By name, in the order of the status page. */
export const parts = {
  checks: { title: 'Checks of credentials', text: 'Issuer, signature and revocation.', jobs: null },
  reads: { title: 'Reads of scores', text: 'Candidates, scores and credentials.', jobs: null },
  search: { title: 'Search', text: 'Candidates by skill and name.', jobs: null },
  webhooks: {
    title: 'Webhooks',
    text: 'Events for the endpoints of developers.',
    jobs: ['fan out events', 'deliver webhooks'],
  },
  scoring: {
    title: 'Scoring',
    text: 'New scores from new evidence.',
    jobs: ['recompute scores', 'find scores that are due'],
  },
  mail: { title: 'Mail', text: 'Sign-in links and notices.', jobs: ['send mails'] },
  signIn: { title: 'Sign-in', text: 'The dashboard and its sessions.', jobs: null },
} as const satisfies Record<string, Part>

export type PartName = keyof typeof parts
export const partNames = Object.keys(parts) as PartName[]

export interface Facts {
  isDatabaseUp: boolean
  /** Whether a process with background jobs lives. */
  hasJobs: boolean
  jobs: readonly Pick<JobHistory, 'name' | 'isLate'>[]
}

/** Returns the state of each part. A part whose jobs this service does not have is left out. */
export function statesOf(facts: Facts): Partial<Record<PartName, PartState>> {
  const { isDatabaseUp, hasJobs, jobs } = facts
  const stateOf = (needed: readonly string[] | null): PartState | null => {
    if (needed === null) return isDatabaseUp ? 'works' : 'fails'
    if (!isDatabaseUp || !hasJobs) return 'fails'
    const own = jobs.filter(({ name }) => needed.includes(name))
    if (own.length === 0) return null
    const late = own.filter(({ isLate }) => isLate).length
    return late === 0 ? 'works' : late === own.length ? 'fails' : 'limited'
  }
  return Object.fromEntries(
    partNames.flatMap((name) => {
      const state = stateOf(parts[name].jobs)
      return state === null ? [] : [[name, state]]
    }),
  )
}

/** A time in which a part did not work, or only in part. */
export interface StatusChange {
  part: PartName
  state: Exclude<PartState, 'works'>
  beganAt: Date
  /** Null: it lasts. */
  endedAt: Date | null
}

export const historyDays = 90
const dayMs = 86_400_000

export interface StatusRecord {
  /** The first look. Null: there was none. */
  since: Date | null
  changes: readonly StatusChange[]
}

export interface Day {
  /** Such as `2026-05-14`. */
  day: string
  /** `unknown`: before the first look. */
  state: PartState | 'unknown'
  /** Minutes in which the part did not work, or only in part. */
  minutes: number
}

/** Returns the last 90 days of a part, oldest first, each with its worst state. */
export function daysOf({ since, changes }: StatusRecord, now: Date): Day[] {
  const today = Math.floor(now.getTime() / dayMs) * dayMs
  return Array.from({ length: historyDays }, (_, i) => {
    const start = today - (historyDays - 1 - i) * dayMs
    const within = changes.flatMap(({ state, beganAt, endedAt }) => {
      const ms =
        Math.min((endedAt ?? now).getTime(), start + dayMs) - Math.max(beganAt.getTime(), start)
      return ms > 0 ? [{ state, ms }] : []
    })
    const state = within.some((one) => one.state === 'fails')
      ? 'fails'
      : within.length > 0
        ? 'limited'
        : since !== null && since.getTime() < start + dayMs
          ? 'works'
          : 'unknown'
    const minutes = Math.ceil(within.reduce((sum, { ms }) => sum + ms, 0) / 60_000)
    return { day: new Date(start).toISOString().slice(0, 10), state, minutes }
  })
}
