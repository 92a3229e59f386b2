/** Pure: an entry of the audit log as the members of an account read it. */
import { type ActionName, actions, theService } from './actions.ts'

/** The stored entry. */
export interface AccountEntry {
  seq: number
  at: string
  actor: string
  action: ActionName
  /** Canonical JSON. */
  subjects: string
  details: string
}

export interface ReadEntry {
  at: Date
  actor: { kind: 'user'; userId: string } | { kind: 'operator' | 'service'; userId: null }
  action: ActionName
  subjects: string[]
  details: Record<string, unknown>
}

/**
 * Returns the entry without what belongs to others: the name of the operator, and the further
 * accounts of an entry about several.
 */
export function readEntry(entry: AccountEntry, accountId: string): ReadEntry {
  const subjects = JSON.parse(entry.subjects) as string[]
  const isAboutAccounts = actions[entry.action].account === 'subject'
  return {
    at: new Date(entry.at),
    actor: actorOf(entry.actor),
    action: entry.action,
    subjects: isAboutAccounts ? subjects.filter((id) => id === accountId) : subjects,
    details: JSON.parse(entry.details) as Record<string, unknown>,
  }
}

function actorOf(actor: string): ReadEntry['actor'] {
  const userId = /^user ([0-9a-f-]{36})$/.exec(actor)?.[1]
  if (userId !== undefined) return { kind: 'user', userId }
  return { kind: actor === theService ? 'service' : 'operator', userId: null }
}
