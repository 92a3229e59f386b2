/** SQL of webhook_events and webhook_feed_floor, except fan-out. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { activeSpan, traceparentOf } from '../../platform/observability/tracing.ts'
import type { EventType } from './event-types.ts'

export interface EventRow extends NewRow {
  createdAt: Date
}

export interface NewRow {
  id: string
  type: EventType
  workerId: string
  /** The envelope in the bytes that are signed and sent. */
  body: string
}

/** Writes the events in the order of `rows`: `seq` is assigned after the sort. */
export async function insertEvents(
  tx: Tx,
  rows: readonly NewRow[],
  createdAt: Date,
): Promise<void> {
  const span = activeSpan()
  const column = <Name extends keyof NewRow>(name: Name) => rows.map((row) => row[name])
  await tx.run(sql`
    insert into webhook_events (id, type, worker_id, created_at, body, traceparent)
    select id, type, worker_id, ${createdAt}, body, ${span === undefined ? null : traceparentOf(span)}::text
    from unnest(${column('id')}::text[], ${column('type')}::text[], ${column('workerId')}::uuid[],
      ${column('body')}::text[]) with ordinality as new(id, type, worker_id, body, place)
    order by place`)
}

/**
 * Withholds all events of these workers, except those of type `spared`. Locks the rows in the order
 * of fan-out, so the two cannot deadlock.
 */
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

interface FeedEvent {
  position: number
  body: string
}

/** Returns the events after a position, in order. 0 is before the first event. */
export function findEventsAfter(
  db: Queryable,
  { after, limit }: { after: number; limit: number },
): Promise<FeedEvent[]> {
  return db.rows<FeedEvent>(sql`
    select position, body from webhook_events
    where position > ${after} and withheld_at is null
    order by position limit ${limit}`)
}

/**
 * Returns a position before every event since `since`, or the highest one if there is none.
 *
 * Positions follow the commits and not the times of events, so of the first thousand events since
 * then the one with the lowest position counts. `with ties` takes a large transaction as a whole,
 * because all of its events have one time.
 */
export async function findPositionBefore(db: Queryable, since: Date): Promise<number> {
  const [row] = await db.rows<{ position: number | null }>(sql`
    select coalesce(
      (select min(position) - 1 from (
        select position from webhook_events
        where created_at >= ${since} and position is not null
        order by created_at fetch first 1000 rows with ties) as first),
      (select max(position) from webhook_events)) as position`)
  return row?.position ?? 0
}

/** Returns `limit` events of any type after a position. Types other than `types` have no body. */
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

/**
 * Returns when the oldest undispatched event happened, or null if there is none. It is recent while
 * a jobs process runs.
 */
export async function findOldestUndispatched(db: Queryable): Promise<Date | null> {
  const [row] = await db.rows<{ at: Date | null }>(sql`
    select min(created_at) as at from webhook_events
    where position is null and withheld_at is null`)
  return row?.at ?? null
}

/** Deletes old events that were dispatched or withheld and have no delivery left. */
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

/** Returns the highest position of an event that was deleted for its age, or 0. */
export async function findFeedFloor(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ position: number }>(sql`select position from webhook_feed_floor`)
  return row?.position ?? 0
}

interface EventRecord {
  /** The envelope as JSON text. */
  body: string
  withheldAt: Date | null
}

export function findEventRecords(db: Queryable, workerId: string): Promise<EventRecord[]> {
  return db.rows<EventRecord>(sql`
    select body, withheld_at as "withheldAt"
    from webhook_events where worker_id = ${workerId} order by seq`)
}

/**
 * Deletes the worker's events with their deliveries and attempts. Events of consent stay: receivers
 * must still learn of a withdrawal, and these events contain nothing else.
 */
export async function eraseEvents(tx: Tx, workerId: string): Promise<number> {
  return tx.run(sql`
    delete from webhook_events
    where worker_id = ${workerId} and type <> 'candidate.consent_changed'`)
}
