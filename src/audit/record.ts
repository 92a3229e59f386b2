/**
 * The audit log: an operator's action and its entry are written in one transaction, so neither
 * exists without the other. Writes audit_log and account_audit. Appending takes a lock that lasts
 * until the end of the transaction: record last, just before the commit.
 */
import { hostname, userInfo } from 'node:os'
import { Compile } from 'typebox/compile'
import type { Queryable, Tx } from '../platform/db/db.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { firstFault } from '../platform/json/shape-fault.ts'
import { type Action, type ActionName, actionNames, actions, type EntryOf } from './actions.ts'
import { type Break, followChain, genesis, type Head, hashOf } from './chain.ts'
import {
  findEntriesAfter,
  findHead,
  findSubjects,
  hasLog,
  insertAccounts,
  insertEntry,
  lockAppending,
} from './store.ts'

/**
 * Appends one entry. Throws if subjects or details are not exactly those that the action declares,
 * which is a defect of the caller.
 */
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
  await insertAccounts(tx, entry.seq, accountsOf(done))
}

/** Appends the entries of one change, all of the same action. */
export async function recordEntries<Name extends ActionName>(
  tx: Tx,
  action: Name,
  entries: readonly EntryOf<Name>[],
  { actor, now }: { actor: string; now: Date },
): Promise<void> {
  for (const { details = {}, ...entry } of entries as readonly { details?: object }[])
    await recordAction(tx, { action, ...entry, details, actor } as Recorded, now)
}

/** The details of an entry belong to its action, which `recordAction` checks once more. */
type Recorded = Parameters<typeof recordAction>[1]

/** Returns the accounts whose members may read the entry. */
function accountsOf(done: Action): readonly string[] {
  const place = actions[done.action].account
  if (place === undefined) return []
  if (place === 'subject') return done.subjects
  if (place === 'details') return 'account' in done.details ? [done.details.account] : []
  return 'account' in done ? [done.account] : []
}

/** Returns USER@HOST of this process. A system user without a name is named by its number. */
export function operator(): string {
  return `${userName()}@${hostname()}`
}

/**
 * Records every migration of the database that has no entry yet. This includes migrations that were
 * applied before the log existed.
 */
export async function recordMigrations(tx: Tx, names: readonly string[], at: Date): Promise<void> {
  if (!(await hasLog(tx))) return
  const recorded = new Set(await findSubjects(tx, 'database.migrated', names))
  const subjects = names.filter((name) => !recorded.has(name))
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

type Verification =
  /** `since` counts the entries after the expected one. */
  { whole: true; head: Head; since: number | null } | { whole: false; broken: Break }

/**
 * Verifies the chain page by page from its first entry, in constant memory. The chain alone cannot
 * show a cut-off end or a log that was rewritten as a whole: `expected`, the hash of an entry that
 * was kept elsewhere, must occur in it.
 */
export async function verifyLog(
  db: Queryable,
  { expected, pageRows = 500 }: { expected: string | null; pageRows?: number },
): Promise<Verification> {
  let head = genesis
  let expectedSeq = expected === genesis.hash ? genesis.seq : null
  for (let after = Number.MIN_SAFE_INTEGER; ; after = head.seq) {
    const entries = await findEntriesAfter(db, { after, limit: pageRows })
    const followed = followChain(head, entries)
    if ('broken' in followed) return { whole: false, broken: followed.broken }
    head = followed.head
    expectedSeq = entries.find(({ hash }) => hash === expected)?.seq ?? expectedSeq
    if (entries.length < pageRows) break
  }
  if (expected === null) return { whole: true, head, since: null }
  if (expectedSeq === null) return { whole: false, broken: notFound(head) }
  return { whole: true, head, since: head.seq - expectedSeq }
}

/**
 * The position of the missing entry is unknown; most likely it followed the last one that is left.
 */
function notFound({ seq }: Head): Break {
  return {
    seq: seq + 1,
    reason: `the expected entry is not in the log: its end was cut off after entry ${seq}, or all of it was written anew`,
  }
}
