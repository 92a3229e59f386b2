/** The context of an operator's verb at a fixed time. */
import type { BatchContext } from '../../../src/operations/ingest.ts'
import type { Db } from '../../../src/platform/db/db.ts'

export function contextAt(db: Db, at = new Date()): BatchContext {
  return { db, actor: 'test@localhost', clock: () => at }
}
