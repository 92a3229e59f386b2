/**
 * The verbs by which owners of an account change its API keys. Each finds the key of that account
 * alone and keeps it locked while it changes: a foreign key and an unknown one have the same
 * result.
 */
import { type ActionContext, contextWithin } from '../audit/action.ts'
import { type RotatedKey, revokeApiKey, rotateApiKey } from './manage.ts'
import { lockOwnKey } from './store.ts'

/** A key and the account that must own it. */
export interface OwnKey {
  id: string
  accountId: string
}

/** Makes a successor; the key stays valid for `overlapHours` more. */
export function rotateOwnKey(
  { db, actor, clock }: ActionContext,
  { overlapHours, ...own }: OwnKey & { overlapHours: number },
): Promise<RotatedKey> {
  return db.transaction(async (tx) => {
    if (!(await lockOwnKey(tx, own))) return { outcome: 'no such key' }
    const context = contextWithin(tx, { actor, now: clock() })
    return rotateApiKey(context, { id: own.id, overlapHours })
  })
}

/** Revokes a key, effective on every node with the commit. */
export function revokeOwnKey(
  { db, actor, clock }: ActionContext,
  own: OwnKey,
): Promise<'revoked' | 'before' | 'unknown'> {
  return db.transaction(async (tx) => {
    if (!(await lockOwnKey(tx, own))) return 'unknown'
    return revokeApiKey(contextWithin(tx, { actor, now: clock() }), own.id)
  })
}
