/** Pure: an entry of the audit log as the members of an account read it. */
import type { KeyCaller, SessionCaller } from '../edge/http/callers.ts'
import { type ActionName, actions, theInvited, theService } from './actions.ts'
import type { Entry } from './chain.ts'

/** The stored entry. */
export interface AccountEntry extends Omit<Entry, 'action' | 'prevHash' | 'hash'> {
  action: ActionName
}

export interface ReadEntry {
  at: Date
  actor:
    | { kind: 'user'; userId: string; apiKeyId: null }
    | { kind: 'api_key'; userId: null; apiKeyId: string }
    | { kind: 'operator' | 'service' | 'invited'; userId: null; apiKeyId: null }
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
    actor: readActor(entry.actor),
    action: entry.action,
    subjects: isAboutAccounts ? subjects.filter((id) => id === accountId) : subjects,
    details: JSON.parse(entry.details) as Record<string, unknown>,
  }
}

/** Returns the actor of an entry that a caller of the account makes. */
export function actorOf(caller: KeyCaller | SessionCaller): string {
  return caller.kind === 'key' ? `key ${caller.keyId}` : `user ${caller.userId}`
}

const otherKinds: Readonly<Record<string, 'service' | 'invited'>> = {
  [theService]: 'service',
  [theInvited]: 'invited',
}

function readActor(actor: string): ReadEntry['actor'] {
  const [, kind, id] = /^(user|key) ([0-9a-f-]{36})$/.exec(actor) ?? []
  if (id === undefined)
    return { kind: otherKinds[actor] ?? 'operator', userId: null, apiKeyId: null }
  return kind === 'user'
    ? { kind, userId: id, apiKeyId: null }
    : { kind: 'api_key', userId: null, apiKeyId: id }
}
