/**
 * The frame of the changes that only a command or a job makes, and that are no operations yet: of
 * signing keys, issued scores and recomputation. The change and its audit entries are one
 * transaction.
 */
import type { Static } from 'typebox'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { nameRequest } from '../platform/db/name-request.ts'
import type { ActionName, actions, GivenAccount } from './actions.ts'
import { recordAction } from './record.ts'

export interface ActionContext {
  db: Db
  /** Named in the audit log. */
  actor: string
  clock: Clock
  /** The HTTP request that asks for it, if one does. */
  requestId?: string
}

/** The result of a verb, with the entries that record its change. */
interface Change<Name extends ActionName> {
  result: unknown
  /** Empty if nothing changed. */
  entries: readonly EntryOf<Name>[]
}

export type EntryOf<Name extends ActionName> = Name extends ActionName
  ? { subjects: readonly string[] } & OptionalIfEmpty<Static<(typeof actions)[Name]['details']>> &
      GivenAccount<Name>
  : never

type OptionalIfEmpty<Details> = object extends Details
  ? { details?: Details }
  : { details: Details }

/**
 * Runs `work` in a transaction, records its entries under `action`, and returns its result. The
 * entries come last, because recording holds a lock until the commit.
 */
export function audited<Name extends ActionName, Done extends Change<Name>>(
  { db, actor, clock, requestId }: ActionContext,
  action: Name,
  work: (tx: Tx, now: Date) => Promise<Done>,
): Promise<Done['result']> {
  return db.transaction(async (tx) => {
    if (requestId !== undefined) await nameRequest(tx, requestId)
    const now = clock()
    const { result, entries } = await work(tx, now)
    for (const { details = {}, ...entry } of entries)
      await recordAction(tx, { action, ...entry, details, actor } as Recorded, now)
    return result
  })
}

/** The details of an entry belong to its action, which `recordAction` checks once more. */
type Recorded = Parameters<typeof recordAction>[1]

/** Pairs a result with the entries that record its change. */
export function changed<const Result, const Entries extends readonly object[]>(
  result: Result,
  ...entries: Entries
): { result: Result; entries: Entries } {
  return { result, entries }
}

/** A result without a change: the audit log gets no entry. */
export function unchanged<const Result>(result: Result): { result: Result; entries: readonly [] } {
  return { result, entries: [] }
}
