/** SQL that exports and erases the webhook events of one worker. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

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
