/** `assay identity verify` and `revoke`: what the operator's check of a person's papers has found. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { dayOf, instantOf } from '../platform/instant.ts'
import { moveIdentity } from '../scores/keep-sharing.ts'
import type { Attribution } from '../workers/consent.ts'
import type { IdentityOutcome, Move } from '../workers/identity.ts'
import { yearsAfter } from '../workers/identity-state.ts'
import { findWorkerId } from '../workers/store.ts'
import { withDatabase } from './context.ts'
import { unknownWorker, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { actorGiven, usernameGiven } from './person.ts'

export interface VerifyFlags {
  by: string
  /** A day or a date-time; a year from now unless given. */
  until?: string
}

export function verifyIdentityCommand(
  config: Config,
  given: string,
  { by, until }: VerifyFlags,
): Promise<Outcome> {
  const end =
    until === undefined ? yearsAfter(systemClock(), 1) : (dayOf(until) ?? instantOf(until))
  if (end === null) throw usageError('--until: a day as YYYY-MM-DD, or a date-time with a zone.')
  return moveCommand(config, given, { by, move: 'verify', until: end })
}

export function revokeIdentityCommand(
  config: Config,
  given: string,
  { by }: { by: string },
): Promise<Outcome> {
  return moveCommand(config, given, { by, move: 'revoke' })
}

function moveCommand(
  config: Config,
  given: string,
  move: OwnMove & { by: string },
): Promise<Outcome> {
  const username = usernameGiven(given)
  const by = actorGiven(move.by)
  return withDatabase(config, async (db) => {
    const moving = { move, by, at: systemClock() }
    const moved = await db.transaction((tx) => moveRecorded(tx, username, moving))
    if (moved.outcome === 'unknown_worker') throw unknownWorker(username)
    if (moved.outcome === 'unusable') throw usageError(`--until ${moved.fault.reason}.`)
    const { from } = moved
    if (moved.outcome === 'refused') {
      const message = `${username}: there is nothing to ${move.move}, the identity is ${from}.`
      return { exitCode: 1, report: { ok: false, username, from, message }, lines: [message] }
    }
    if (moved.outcome === 'unchanged')
      return done({ ok: true, username, changed: false, identity: from }, [
        `${username}: nothing to change, the identity is ${from}`,
      ])
    const verifiedUntil = move.move === 'verify' ? wireTime(move.until) : null
    const until = verifiedUntil === null ? '' : ` until ${verifiedUntil}`
    return done({ ok: true, username, changed: true, from, identity: moved.to, verifiedUntil }, [
      `${username}: identity ${moved.to}${until} (it was ${from})`,
    ])
  })
}

/** The moves that an operator makes. */
type OwnMove = Move & { move: 'verify' | 'revoke' }

async function moveRecorded(
  tx: Tx,
  username: string,
  { move, by, at }: Attribution & { move: OwnMove },
): Promise<IdentityOutcome> {
  const workerId = await findWorkerId(tx, username)
  if (workerId === null) return { outcome: 'unknown_worker' }
  const moved = await moveIdentity(tx, { ...move, workerId }, { by, at })
  if (moved.outcome !== 'changed') return moved
  const action = move.move === 'verify' ? 'identity.verified' : 'identity.revoked'
  await recordAction(tx, { actor: operator(), action, subjects: [workerId], details: {} }, at)
  return moved
}
