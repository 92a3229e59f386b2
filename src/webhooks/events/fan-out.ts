/**
 * Fan-out: gives committed events their positions in the feed and a delivery to each subscribed
 * endpoint. One process does this at a time, in batches. After a crash the events are still
 * undispatched. Positions may have gaps, but a lower position never appears after a higher one was
 * readable.
 */
import { type Db, type Queryable, sql } from '../../platform/db/db.ts'
import type { EventType } from './event-types.ts'

/** A batch makes at most this many deliveries, however many endpoints subscribe. */
const limits = { events: 500, deliveries: 20_000 }

/** Fans out every undispatched event. Returns the number of events. */
export async function fanOutEvents(
  db: Db,
  onDispatched: (event: DispatchedEvent) => void = () => undefined,
): Promise<number> {
  let count = 0
  while (await hasUndispatchedEvents(db)) {
    const events = await fanOutBatch(db, limits)
    events.forEach(onDispatched)
    count += events.length
  }
  return count
}

export interface DispatchedEvent {
  id: string
  type: EventType
  position: number
}

interface FanOutLimits {
  events: number
  /** Estimated from the number of active endpoints. A batch has at least one event. */
  deliveries: number
}

/**
 * Gives the oldest undispatched events the next positions. Inserts a delivery for each active
 * endpoint that subscribes to the type and existed when the event happened.
 *
 * One process at a time: it takes the advisory lock before it selects a row, and keeps it to the
 * end of the transaction. A process that waited for the lock does not see events of the meantime;
 * it skips those that the previous holder dispatched, because it locks each row. It waits for an
 * event that another transaction is withholding, because a later event of the same worker must not
 * overtake it.
 */
export function fanOutBatch(
  db: Queryable,
  { events, deliveries }: FanOutLimits,
): Promise<DispatchedEvent[]> {
  return db.rows<DispatchedEvent>(sql`
    with turn as materialized (
      select pg_advisory_xact_lock(hashtext('webhook_event_positions'))
    ), waiting as materialized (
      select seq from webhook_events
      where position is null and withheld_at is null and (select count(*) from turn) = 1
      order by seq
      limit greatest(1, least(${events}::bigint, ${deliveries}::bigint
        / (select 1 + count(*) from webhook_endpoints where disabled_at is null)))
      for update
    ), numbered as materialized (
      select seq, nextval('webhook_event_positions') as position
      from (select seq from waiting order by seq) as ordered
    ), dispatched as (
      update webhook_events e set position = numbered.position
      from numbered where e.seq = numbered.seq
      returning e.seq, e.id, e.type, e.created_at, e.position, e.request_id
    ), fanned_out as (
      insert into webhook_deliveries
        (endpoint_id, event_seq, event_id, event_type, trigger, due_at, created_at, request_id)
      select n.id, d.seq, d.id, d.type, 'event', d.created_at, d.created_at, d.request_id
      from dispatched d
      join webhook_endpoints n on d.type = any(n.event_types)
        and n.disabled_at is null and n.created_at <= d.created_at
      order by d.position, n.id
    )
    select id, type, position from dispatched order by position`)
}

/** Returns whether any event is undispatched. */
async function hasUndispatchedEvents(db: Queryable): Promise<boolean> {
  const rows = await db.rows(sql`
    select 1 from webhook_events where position is null and withheld_at is null limit 1`)
  return rows.length > 0
}
