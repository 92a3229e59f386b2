/**
 * Records the history of the status page. Every process with background jobs looks each 10 s, and
 * they take turns, so that one row is written for each change.
 */
import { atMostEvery } from '../platform/at-most-every.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { withDeadline } from '../platform/deadlines.ts'
import type { Job } from '../platform/job-runner.ts'
import {
  type Facts,
  historyDays,
  type PartName,
  partNames,
  parts,
  type StatusRecord,
  statesOf,
} from './parts.ts'
import {
  deleteStatusChanges,
  findFirstLook,
  findStatusChanges,
  insertOutage,
  lockLastLook,
  setLook,
  setStates,
} from './status-store.ts'

const lookEveryMs = 10_000
/** A longer time without a look is an outage. */
const gapMs = 60_000
const dayMs = 86_400_000

/** `facts` reads them from the database: if it does not answer, the look fails. */
export function statusRecorder(
  { db, clock }: { db: Db; clock: Clock },
  facts: () => Promise<Omit<Facts, 'isDatabaseUp'>>,
): Job[] {
  let hasLooked = false
  return [
    {
      name: 'record the status',
      everyMs: lookEveryMs,
      async run() {
        const found = await facts()
        const now = clock()
        await db.transaction(async (tx) => {
          const last = await lockLastLook(tx, now)
          if (now.getTime() - last.getTime() > gapMs)
            await insertOutage(tx, { names: outageOf(hasLooked), from: last, to: now })
          const states = statesOf({ ...found, isDatabaseUp: true })
          await setStates(tx, new Map(Object.entries(states) as [PartName, never][]), now)
          await setLook(tx, now)
        })
        hasLooked = true
      },
    },
    {
      name: 'delete old status changes',
      everyMs: 3_600_000,
      run: () => deleteStatusChanges(db, new Date(clock().getTime() - historyDays * dayMs)),
    },
  ]
}

/**
 * Returns the parts that did not work since the last look. If this process looked before, it lived
 * and its looks failed: the database was away, so no part worked. Otherwise no process looked:
 * nothing is known of the parts of requests, and the parts of background jobs did not work.
 */
function outageOf(hasLooked: boolean): PartName[] {
  return partNames.filter((name) => hasLooked || parts[name].jobs !== null)
}

/** The history in the memory of a process, so that the page shows it while the database is away. */
export interface StatusHistory {
  /** Returns the history, read at most a minute ago if the database answers. */
  read(): Promise<StatusRecord>
}

const rereadMs = 60_000

export function openStatusHistory(db: Db, clock: Clock): StatusHistory {
  let last: StatusRecord = { since: null, changes: [] }
  const reread = atMostEvery(rereadMs, async () => {
    const from = new Date(clock().getTime() - historyDays * dayMs)
    const [since, changes] = await Promise.all([findFirstLook(db), findStatusChanges(db, from)])
    last = { since, changes }
  })
  return {
    async read() {
      // The page names the outage by its probe.
      await withDeadline(reread(), 'databaseAnswer').catch(() => {})
      return last
    },
  }
}
