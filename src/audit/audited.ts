/** The frame of an operator's verb: its changes and its audit entries are one transaction. */
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import type { Action } from './actions.ts'
import { recordAction } from './record.ts'

export interface ActionContext {
  db: Db
  /** Named in the audit log. */
  actor: string
  clock: Clock
}

export interface Audited<Result> {
  result: Result
  /** Empty if nothing was changed. */
  actions: readonly Action[]
}

/** Runs `work` in a transaction and records its actions last: recording holds a lock until the commit. */
export function audited<Result>(
  { db, actor, clock }: ActionContext,
  work: (tx: Tx, now: Date) => Promise<Audited<Result>>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    const now = clock()
    const { result, actions } = await work(tx, now)
    for (const action of actions) await recordAction(tx, { ...action, actor }, now)
    return result
  })
}
