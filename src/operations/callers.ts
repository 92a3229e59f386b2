/** Pure: the callers of operations behind hand-written routes and pages. */
import { actorOf } from '../audit/account-entry.ts'
import type { KeyCaller, Scope, SessionCaller } from '../edge/http/callers.ts'
import type { OperationCaller } from './perform.ts'

type Of<Kind> = Extract<OperationCaller, { kind: Kind }>

export function memberCaller(session: SessionCaller, requestId: string): Of<'member'> {
  const actor = actorOf(session)
  const { accountId, role, userId } = session
  return { kind: 'member', accountId, role, userId, actor, by: actor, requestId }
}

/** `scope` is that of the route, which admitted the key because it has it. */
export function keyCaller(key: KeyCaller, scope: Scope, requestId: string): Of<'key'> {
  const actor = actorOf(key)
  return { kind: 'key', accountId: key.accountId, scopes: [scope], actor, by: actor, requestId }
}
