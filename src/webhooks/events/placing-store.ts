/** SQL of placing: positions of webhook_events, and the rows of webhook_deliveries that follow from them. */
import { type Queryable, sql } from '../../platform/db/db.ts'
import type { EventType } from './event-types.ts'

export interface PlacedEvent {
  id: string
  type: EventType
  position: number
}

export interface PlacingLimits {
  events: number
  /** As far as the number of active endpoints tells; one event is placed in any case. */
  deliveries: number
}

/**
 * Gives the next positions to the events that wait longest, and to each a delivery for each active endpoint that was there when it
 * happened and wants its type. One process at a time: the lock is taken before the first row is, and kept to the end of the transaction.
 * A process that waited for it may not see the events written meanwhile, and finds what the one before has placed placed when it locks
 * it. An event that another transaction is withholding is waited for, not skipped: a later one of the same worker would overtake it.
 */
export function placeNext(
  db: Queryable,
  { events, deliveries }: PlacingLimits,
): Promise<PlacedEvent[]> {
  return db.rows<PlacedEvent>(sql`
    with alone as materialized (
      select pg_advisory_xact_lock(hashtext('webhook_event_positions'))
    ), waiting as materialized (
      select seq from webhook_events
      where position is null and withheld_at is null and (select count(*) from alone) = 1
      order by seq
      limit greatest(1, least(${events}::bigint, ${deliveries}::bigint
        / (select 1 + count(*) from webhook_endpoints where disabled_at is null)))
      for update
    ), numbered as materialized (
      select seq, nextval('webhook_event_positions') as position
      from (select seq from waiting order by seq) as ordered
    ), placed as (
      update webhook_events e set position = numbered.position
      from numbered where e.seq = numbered.seq
      returning e.seq, e.id, e.type, e.created_at, e.position
    ), fanned_out as (
      insert into webhook_deliveries
        (endpoint_id, event_seq, event_id, event_type, trigger, due_at, created_at)
      select n.id, p.seq, p.id, p.type, 'event', p.created_at, p.created_at
      from placed p
      join webhook_endpoints n on p.type = any(n.event_types)
        and n.disabled_at is null and n.created_at <= p.created_at
      order by p.position, n.id
    )
    select id, type, position from placed order by position`)
}

/** Whether any event waits for its position. */
export async function isPlacingNeeded(db: Queryable): Promise<boolean> {
  const rows = await db.rows(sql`
    select 1 from webhook_events where position is null and withheld_at is null limit 1`)
  return rows.length > 0
}
