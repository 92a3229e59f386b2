/** Identity verification: begun, verified until a day, revoked. Every state it goes through is a row; it expires by time alone. */
import type { Db, Tx } from '../platform/db/db.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import type { Circumstances } from './consent.ts'
import {
  faultOfUntil,
  type IdentityMove,
  type IdentityState,
  identityAt,
  statesOf,
} from './identity-state.ts'
import { findIdentities, insertIdentityChanges } from './identity-store.ts'
import { findWorkerId, lockPerson, lockWorkers } from './store.ts'

export type Move =
  | { move: Exclude<IdentityMove, 'verify'> }
  /** The verification counts before this time. */
  | { move: 'verify'; until: Date }

export type IdentityOutcome =
  | { outcome: 'changed'; from: IdentityState; to: IdentityState }
  | { outcome: 'unchanged'; from: IdentityState }
  /** From this state there is no such move. */
  | { outcome: 'refused'; from: IdentityState }
  | { outcome: 'unusable'; fault: Fault }
  | { outcome: 'unknown_person' }

export function moveIdentity(
  db: Db,
  username: string,
  { by, at, ...move }: Move & Circumstances,
): Promise<IdentityOutcome> {
  return db.transaction(async (tx) => {
    const workerId = await findWorkerId(tx, username)
    if (workerId === null) return { outcome: 'unknown_person' }
    return moveIdentityInside(tx, { workerId, ...move }, { by, at })
  })
}

/** The same within the caller's transaction, of a worker by id. */
export async function moveIdentityInside(
  tx: Tx,
  move: Move & { workerId: string },
  { by, at }: Circumstances,
): Promise<IdentityOutcome> {
  const { workerId } = move
  const until = move.move === 'verify' ? move.until : null
  const fault = move.move === 'verify' ? faultOfUntil('until', until, at) : null
  if (fault !== null) return { outcome: 'unusable', fault }
  if (!(await lockPerson(tx, workerId))) return { outcome: 'unknown_person' }
  const [stored = null] = await findIdentities(tx, [workerId])
  const from = identityAt(stored, at)
  const states = statesOf(move.move, from)
  if (states === null) return { outcome: 'refused', from }
  const to = states.at(-1)
  const isRenewalOfNothing =
    to === 'verified' && stored?.verifiedUntil?.getTime() === until?.getTime()
  if (to === undefined || isRenewalOfNothing) return { outcome: 'unchanged', from }
  const changes = states.map((state, i) => ({
    workerId,
    change: (stored?.change ?? 0) + i + 1,
    state,
    verifiedUntil: state === 'verified' ? until : null,
  }))
  await insertIdentityChanges(tx, changes, { by, at })
  return { outcome: 'changed', from, to }
}

/** For people of whom nobody has begun a verification; others are left alone. Gives the ids of those verified now. */
export async function verifyFirst(
  tx: Tx,
  people: readonly { workerId: string; until: Date }[],
  { by, at }: Circumstances,
): Promise<string[]> {
  if (people.length === 0) return []
  const workerIds = people.map(({ workerId }) => workerId)
  await lockWorkers(tx, workerIds)
  const known = new Set((await findIdentities(tx, workerIds)).map((row) => row.workerId))
  const fresh = people.filter(({ workerId }) => !known.has(workerId))
  if (fresh.length === 0) return []
  const changes = fresh.flatMap(({ workerId, until }) => [
    { workerId, change: 1, state: 'pending' as const, verifiedUntil: null },
    { workerId, change: 2, state: 'verified' as const, verifiedUntil: until },
  ])
  await insertIdentityChanges(tx, changes, { by, at })
  return fresh.map(({ workerId }) => workerId)
}
