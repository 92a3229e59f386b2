/**
 * The audit log: what an operator did is written in the transaction that does it, so that neither is ever there without the other.
 * Writes audit_log. Who appends holds a lock until the end of its transaction: record last, when nothing but the commit is left to do.
 */
import { hostname, userInfo } from 'node:os'
import { Compile } from 'typebox/compile'
import type { Tx } from '../platform/db/db.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { firstFault } from '../platform/json/shape-fault.ts'
import { type Action, actionNames, actions } from './actions.ts'
import { genesis, hashOf } from './chain.ts'
import { findHead, findSubjects, hasLog, insertEntry, lockAppending } from './store.ts'

/** Appends one entry. Throws on subjects or details that are not exactly what the action declares: that is our defect. */
export async function recordAction(
  tx: Tx,
  done: Action & { actor: string },
  at: Date,
): Promise<void> {
  refuseUndeclared(done)
  await lockAppending(tx)
  const head = (await findHead(tx)) ?? genesis
  const entry = {
    seq: head.seq + 1,
    at: at.toISOString(),
    actor: done.actor,
    action: done.action,
    subjects: canonicalJson(done.subjects),
    details: canonicalJson(done.details),
    prevHash: head.hash,
  }
  await insertEntry(tx, { ...entry, hash: hashOf(entry) })
}

/** The actor of what the service does by itself, without anybody's command. */
export const theService = 'service'

/** Whoever runs this process: USER@HOST. A user without a name in the system is its number. */
export function operator(): string {
  return `${userName()}@${hostname()}`
}

/**
 * Records which of the migrations, all those that the database has, no entry tells of yet: that is also what was applied before the
 * log itself was there.
 */
export async function recordMigrations(tx: Tx, names: readonly string[], at: Date): Promise<void> {
  if (!(await hasLog(tx))) return
  const told = new Set(await findSubjects(tx, 'database.migrated', names))
  const subjects = names.filter((name) => !told.has(name))
  if (subjects.length === 0) return
  const details = { count: subjects.length }
  await recordAction(tx, { actor: operator(), action: 'database.migrated', subjects, details }, at)
}

const shapes = new Map(
  actionNames.map((name) => {
    const { subject, details } = actions[name]
    return [name, { subject: Compile(subject), details: Compile(details) }] as const
  }),
)

function refuseUndeclared({ action, subjects, details }: Action): void {
  const shape = shapes.get(action)
  if (shape === undefined) throw new Error(`the audit log has no action ${action}`)
  for (const subject of subjects)
    if (!shape.subject.Check(subject)) throw new Error(`${action}: a subject has not its form`)
  if (shape.details.Check(details)) return
  const { field, reason } = firstFault(shape.details, details)
  throw new Error(`${action}: ${field ?? 'details'} ${reason}`)
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
