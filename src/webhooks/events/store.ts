/** SQL of webhook_events and webhook_feed_floor, placing apart. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
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
