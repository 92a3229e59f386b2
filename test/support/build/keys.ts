/** Accounts, keys and credits, made by the modules that own them. */
import {
  createRecordedKey,
  type NewKey,
  revokeApiKey,
} from '../../../src/accounts/access/manage.ts'
import { enterCredits } from '../../../src/billing/credits/credits.ts'
import { scopes } from '../../../src/edge/http/callers.ts'
import type { Db } from '../../../src/platform/db/db.ts'
import { newAccount } from './accounts.ts'

export interface TestKey {
  accountId: string
  keyId: string
  key: string
  /** Request headers that present the key, as `Question.headers`. */
  headers: { Authorization: string }
}

let accounts = 0

/**
 * Creates an API key. By default it belongs to a new account, has every scope, and its account has
 * no credits.
 */
export async function newKey(
  db: Db,
  {
    credits = 0,
    now = new Date(),
    ...over
  }: Partial<NewKey> & { credits?: number; now?: Date } = {},
): Promise<TestKey> {
  const accountId =
    over.accountId ??
    (await db.transaction((tx) => newAccount(tx, `customer ${process.pid} ${++accounts}`, now)))
  const wanted = {
    environment: 'live',
    name: 'test',
    scopes,
    allowedFrom: null,
    expiresAt: null,
    ...over,
  } as const
  const by = { actor: 'test@localhost', now }
  const made = await db.transaction((tx) => createRecordedKey(tx, { ...wanted, accountId }, by))
  if (made === null) throw new Error('the key was not made')
  if (credits > 0)
    await db.transaction((tx) =>
      enterCredits(tx, { accountId, kind: 'grant', delta: credits, reason: 'for a test' }),
    )
  const { id: keyId, key } = made
  return { accountId, keyId, key, headers: { Authorization: `Bearer ${key}` } }
}

/** Revokes a key, effective on every node with the commit. */
export async function revokeKey(db: Db, id: string): Promise<void> {
  await db.transaction((tx) => revokeApiKey(tx, { id, owner: 'any' }, new Date()))
}
