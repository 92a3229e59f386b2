import { sql, type Tx } from './db.ts'

/**
 * Names the HTTP request that causes the changes of this transaction. Columns such as
 * `webhook_events.request_id` have the name as their default.
 */
export async function nameRequest(tx: Tx, requestId: string): Promise<void> {
  await tx.rows(sql`select set_config('assay.request_id', ${requestId}, true)`)
}
