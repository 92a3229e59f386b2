/** All SQL of webhook_events and webhook_feed_floor. */
import { type Queryable, sql, type Tx } from '../platform/db.ts'
import type { EventType } from './event-types.ts'

export interface EventRow {
  id: string
  type: EventType
  workerId: string
  createdAt: Date
  /** The envelope, exactly as it is signed and sent. */
  body: string
}

/** Writes the events in the order given: `seq` is drawn after the sort. */
export async function insertEvents(tx: Tx, rows: readonly EventRow[]): Promise<void> {
  const column = <Name extends keyof EventRow>(name: Name) => rows.map((row) => row[name])
  await tx.run(sql`
    insert into webhook_events (id, type, worker_id, created_at, body)
    select id, type, worker_id, created_at, body
    from unnest(${column('id')}::text[], ${column('type')}::text[], ${column('workerId')}::uuid[],
      ${column('createdAt')}::timestamptz[], ${column('body')}::text[])
      with ordinality as new(id, type, worker_id, created_at, body, place)
    order by place`)
}

/** What was written of these workers, but for events of type `spared`, no longer leaves. Locked in order: placing does so too. */
export async function withholdEvents(
  tx: Tx,
  workerIds: readonly string[],
  { spared, at }: { spared: EventType; at: Date },
): Promise<void> {
  await tx.run(sql`
    with found as (
      select seq from webhook_events
      where worker_id = any(${workerIds}::uuid[]) and type <> ${spared} and withheld_at is null
      order by seq for update
    )
    update webhook_events e set withheld_at = ${at} from found where e.seq = found.seq`)
}

/** One process at a time gives positions. A statement of its own: what follows must see what the holder before has committed. */
export async function lockPlacing(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('webhook_event_positions'))`)
}

export interface PlacedEvent {
  id: string
  type: EventType
  position: number
}

/**
 * Gives the next positions to the events that wait longest, at most `limit`. Under the lock of `lockPlacing`. An event that another
 * transaction is withholding is waited for, not skipped: a later one of the same worker would overtake it.
 */
export function placeNext(tx: Tx, limit: number): Promise<PlacedEvent[]> {
  return tx.rows<PlacedEvent>(sql`
    with waiting as materialized (
      select seq from webhook_events where position is null and withheld_at is null
      order by seq limit ${limit} for update
    ), numbered as materialized (
      select seq, nextval('webhook_event_positions') as position
      from (select seq from waiting order by seq) as ordered
    ), placed as (
      update webhook_events e set position = numbered.position
      from numbered where e.seq = numbered.seq
      returning e.id, e.type, e.position
    )
    select id, type, position from placed order by position`)
}

export interface FeedEvent {
  position: number
  body: string
}

/** What comes after a position, in order; the last one's position is the next `after`. 0 is before everything. */
export function findEventsAfter(
  db: Queryable,
  { after, limit }: { after: number; limit: number },
): Promise<FeedEvent[]> {
  return db.rows<FeedEvent>(sql`
    select position, body from webhook_events
    where position > ${after} and withheld_at is null
    order by position limit ${limit}`)
}

/** The same of `limit` events of any type; those of other types than `types` come without their body. */
export function findTypesAfter(
  db: Queryable,
  { after, limit, types }: { after: number; limit: number; types: readonly string[] },
): Promise<{ position: number; body: string | null }[]> {
  return db.rows<{ position: number; body: string | null }>(sql`
    select position, case when type = any(${types}::text[]) then body end as body
    from webhook_events
    where position > ${after} and withheld_at is null
    order by position limit ${limit}`)
}

/** Whether any event waits for its position, and how many endpoints there are at most to send it to. */
export async function isPlacingNeeded(
  db: Queryable,
): Promise<{ isNeeded: boolean; endpointCount: number }> {
  const [row] = await db.rows<{ isNeeded: boolean; endpointCount: number }>(sql`
    select waiting as "isNeeded", case when waiting then (
      select count(*)::int from webhook_endpoints where disabled_at is null) else 0 end
      as "endpointCount"
    from (select exists (
      select from webhook_events where position is null and withheld_at is null) as waiting) w`)
  return row ?? { isNeeded: false, endpointCount: 0 }
}

/** When the event happened that waits longest for its position; null where none waits. Only without a worker is that long ago. */
export async function findOldestUnplaced(db: Queryable): Promise<Date | null> {
  const [row] = await db.rows<{ at: Date | null }>(sql`
    select min(created_at) as at from webhook_events
    where position is null and withheld_at is null`)
  return row?.at ?? null
}

/** Events that were sent or withheld long ago, and of which no delivery is kept. */
export async function deleteOldEvents(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    with deleted as (
      delete from webhook_events where seq in (
        select e.seq from webhook_events e
        where e.created_at < ${before} and (e.position is not null or e.withheld_at is not null)
          and not exists (select from webhook_deliveries d where d.event_seq = e.seq)
        order by e.created_at limit ${limit})
      returning position
    ), floor as (
      update webhook_feed_floor f set position = gone.position
      from (select max(position) as position from deleted) gone
      where gone.position > f.position
    )
    select count(*)::int as count from deleted`)
  return row?.count ?? 0
}

/** The highest position of which an event was deleted for its age; 0 while none was. */
export async function findFeedFloor(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ position: number }>(sql`select position from webhook_feed_floor`)
  return row?.position ?? 0
}
