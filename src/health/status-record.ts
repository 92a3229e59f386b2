/**
 * Records the history of the status page. Every process with background jobs looks each 10 s, and
 * they take turns, so that one row is written for each change.
 */
import { atMostEvery } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import { type Db, type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { withDeadline } from '../platform/deadlines.ts'
import type { Job } from '../platform/job-runner.ts'
import {
  type Facts,
  historyDays,
  type PartName,
  type PartState,
  partNames,
  parts,
  type StatusChange,
  type StatusRecord,
  statesOf,
} from './parts.ts'

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

/** Returns the changes that ended after a time or last, oldest first. */
export function findStatusChanges(db: Queryable, since: Date): Promise<StatusChange[]> {
  return db.rows<StatusChange>(sql`
    select part, state, began_at as "beganAt", ended_at as "endedAt" from status_changes
    where ended_at is null or ended_at > ${since} order by began_at, part`)
}

/**
 * Takes the turn of one process. Returns the time of the last look; the first look returns its own.
 */
async function lockLastLook(tx: Tx, now: Date): Promise<Date> {
  await tx.run(sql`
    insert into status_looks (at, first_at) values (${now}, ${now}) on conflict do nothing`)
  const [row] = await tx.rows<{ at: Date }>(sql`select at from status_looks for update`)
  return row?.at ?? now
}

/** Returns when the first look was, or null before it. */
async function findFirstLook(db: Queryable): Promise<Date | null> {
  const [row] = await db.rows<{ at: Date }>(sql`select first_at as at from status_looks`)
  return row?.at ?? null
}

async function setLook(tx: Tx, now: Date): Promise<void> {
  await tx.run(sql`update status_looks set at = greatest(at, ${now})`)
}

/** Ends what lasts in another state, and begins the states that do not last yet. */
async function setStates(
  tx: Tx,
  states: ReadonlyMap<PartName, PartState>,
  now: Date,
): Promise<void> {
  const [names, values] = [[...states.keys()], [...states.values()]]
  await tx.run(sql`
    update status_changes c set ended_at = ${now}
    from unnest(${names}::text[], ${values}::text[]) as s(part, state)
    where c.part = s.part and c.ended_at is null and c.state <> s.state`)
  await tx.run(sql`
    insert into status_changes (part, state, began_at)
    select s.part, s.state, ${now} from unnest(${names}::text[], ${values}::text[]) as s(part, state)
    where s.state <> 'works' and not exists (
      select from status_changes c where c.part = s.part and c.ended_at is null)
    on conflict do nothing`)
}

/** Writes an outage that is over. What worked in part ended when the outage began. */
async function insertOutage(
  tx: Tx,
  { names, from, to }: { names: readonly PartName[]; from: Date; to: Date },
): Promise<void> {
  await tx.run(sql`
    update status_changes set ended_at = greatest(began_at, ${from})
    where ended_at is null and state = 'limited' and part = any(${names}::text[])`)
  await tx.run(sql`
    insert into status_changes (part, state, began_at, ended_at)
    select n.part, 'fails', ${from}, ${to} from unnest(${names}::text[]) as n(part)
    where not exists (
      select from status_changes c
      where c.part = n.part and c.state = 'fails' and c.began_at <= ${from} and c.ended_at is null)
    on conflict do nothing`)
}

function deleteStatusChanges(db: Queryable, before: Date): Promise<number> {
  return db.run(sql`delete from status_changes where ended_at < ${before}`)
}
