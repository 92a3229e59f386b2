/** All SQL of `status_changes` and `status_looks`. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { PartName, PartState, StatusChange } from './parts.ts'

/** Returns the changes that ended after a time or last, oldest first. */
export function findStatusChanges(db: Queryable, since: Date): Promise<StatusChange[]> {
  return db.rows<StatusChange>(sql`
    select part, state, began_at as "beganAt", ended_at as "endedAt" from status_changes
    where ended_at is null or ended_at > ${since} order by began_at, part`)
}

/** Takes the turn of one process. Returns the time of the last look; the first look returns its own. */
export async function lockLastLook(tx: Tx, now: Date): Promise<Date> {
  await tx.run(sql`
    insert into status_looks (at, first_at) values (${now}, ${now}) on conflict do nothing`)
  const [row] = await tx.rows<{ at: Date }>(sql`select at from status_looks for update`)
  return row?.at ?? now
}

/** Returns when the first look was, or null before it. */
export async function findFirstLook(db: Queryable): Promise<Date | null> {
  const [row] = await db.rows<{ at: Date }>(sql`select first_at as at from status_looks`)
  return row?.at ?? null
}

export async function setLook(tx: Tx, now: Date): Promise<void> {
  await tx.run(sql`update status_looks set at = greatest(at, ${now})`)
}

/** Ends what lasts in another state, and begins the states that do not last yet. */
export async function setStates(
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
export async function insertOutage(
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

export function deleteStatusChanges(db: Queryable, before: Date): Promise<number> {
  return db.run(sql`delete from status_changes where ended_at < ${before}`)
}
