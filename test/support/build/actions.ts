/** The context of an operator's verb at a fixed time. */
import type { ActionContext } from '../../../src/audit/action.ts'
import type { Db } from '../../../src/platform/db/db.ts'

export function contextAt(db: Db, at = new Date()): ActionContext {
  return { db, actor: 'test@localhost', clock: () => at }
}
