/**
 * Identity verification: it is begun, verified until a time, and may be revoked. Every state is
 * recorded as a row, except expiry, which follows from the time. Tables: `identities` and
 * `identity_changes`.
 */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { Attribution } from './consent.ts'
import {
  faultOfUntil,
  type IdentityMove,
  type IdentityState,
  identityAt,
  type StoredIdentity,
  statesOf,
} from './identity-state.ts'
import { lockWorker, lockWorkers } from './store.ts'

export type Move =
  | { move: Exclude<IdentityMove, 'verify'> }
  /** The verification counts before this time. */
  | { move: 'verify'; until: Date }

interface MovedIdentity {
  from: IdentityState
  /** Null if there was nothing to do. */
  to: IdentityState | null
}

type IdentityRefusal = Refusal<'worker_not_found' | 'identity_state' | 'invalid_field'>

/** Moves the identity of a worker within the caller's transaction and records every state. */
export async function recordIdentityMove(
  tx: Tx,
  move: Move & { workerId: string },
  { by, at }: Attribution,
): Promise<MovedIdentity | IdentityRefusal> {
  const { workerId } = move
  const until = move.move === 'verify' ? move.until : null
  const fault = move.move === 'verify' ? faultOfUntil('until', until, at) : null
  if (fault !== null)
    return refuse('invalid_field', { message: `${fault.field ?? 'until'} ${fault.reason}.` })
  if (!(await lockWorker(tx, workerId))) return refuse('worker_not_found')
  const [stored = null] = await findIdentities(tx, [workerId])
  const from = identityAt(stored, at)
  const states = statesOf(move.move, from)
  if (states === null)
    return refuse('identity_state', {
      message: `There is nothing to ${move.move}: the identity is ${from}.`,
    })
  const to = states.at(-1)
  const isRenewalOfNothing =
    to === 'verified' && stored?.verifiedUntil?.getTime() === until?.getTime()
  if (to === undefined || isRenewalOfNothing) return { from, to: null }
  const changes = states.map((state, i) => ({
    workerId,
    change: (stored?.change ?? 0) + i + 1,
    state,
    verifiedUntil: state === 'verified' ? until : null,
  }))
  await insertIdentityChanges(tx, changes, { by, at })
  return { from, to }
}

/**
 * Verifies the workers that have no verification yet and leaves the others unchanged. Returns the
 * ids of the verified workers.
 */
export async function verifyFirst(
  tx: Tx,
  workers: readonly { workerId: string; until: Date }[],
  { by, at }: Attribution,
): Promise<string[]> {
  if (workers.length === 0) return []
  const workerIds = workers.map(({ workerId }) => workerId)
  await lockWorkers(tx, workerIds)
  const known = new Set((await findIdentities(tx, workerIds)).map((row) => row.workerId))
  const unverified = workers.filter(({ workerId }) => !known.has(workerId))
  await verifyNewWorkers(tx, unverified, { by, at })
  return unverified.map(({ workerId }) => workerId)
}

/** Verifies workers that have no verification, under their locks. */
export async function verifyNewWorkers(
  tx: Tx,
  workers: readonly { workerId: string; until: Date }[],
  attribution: Attribution,
): Promise<void> {
  if (workers.length === 0) return
  const changes = workers.flatMap(({ workerId, until }) => [
    { workerId, change: 1, state: 'pending' as const, verifiedUntil: null },
    { workerId, change: 2, state: 'verified' as const, verifiedUntil: until },
  ])
  await insertIdentityChanges(tx, changes, attribution)
}

interface IdentityRow extends StoredIdentity {
  workerId: string
  /** Number of this change of the worker, from 1. */
  change: number
}

function findIdentities(db: Queryable, workerIds: readonly string[]): Promise<IdentityRow[]> {
  return db.rows<IdentityRow>(sql`
    select worker_id as "workerId", state, verified_until as "verifiedUntil", change
    from identities where worker_id = any(${workerIds}::uuid[])`)
}

interface RecordedMove extends StoredIdentity {
  by: string
  changedAt: Date
}

/** Returns the identity changes of a worker, the newest first. */
export function findIdentityChanges(
  db: Queryable,
  workerId: string,
  limit: number,
): Promise<RecordedMove[]> {
  return db.rows<RecordedMove>(sql`
    select state, verified_until as "verifiedUntil", actor as by, changed_at as "changedAt"
    from identity_changes where worker_id = ${workerId} order by change desc limit ${limit}`)
}

/** Records changes. The last change of each worker becomes its current state. */
async function insertIdentityChanges(
  tx: Tx,
  changes: readonly IdentityRow[],
  { by, at }: { by: string; at: Date },
): Promise<void> {
  const column = <Name extends keyof IdentityRow>(name: Name) => changes.map((c) => c[name])
  await tx.run(sql`
    with changed as (
      insert into identity_changes (worker_id, change, state, verified_until, actor, changed_at)
      select *, ${by}, ${at} from unnest(${column('workerId')}::uuid[], ${column('change')}::int[],
        ${column('state')}::text[], ${column('verifiedUntil')}::timestamptz[])
      returning worker_id, change, state, verified_until
    )
    insert into identities (worker_id, change, state, verified_until)
    select distinct on (worker_id) * from changed order by worker_id, change desc
    on conflict (worker_id) do update set state = excluded.state,
      verified_until = excluded.verified_until, change = excluded.change`)
}
