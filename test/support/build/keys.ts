/** Accounts, keys and credits, made by the modules that own them. */
import { createApiKey, type NewKey } from '../../../src/access/manage.ts'
import { enterCredits } from '../../../src/credits/credits.ts'
import type { Db } from '../../../src/platform/db/db.ts'
import { scopes } from '../../../src/platform/http/callers.ts'
import { newAccount } from './accounts.ts'
import { contextAt } from './actions.ts'

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
  const context = contextAt(db, now)
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
  const made = await createApiKey(context, { ...wanted, accountId })
  if (made.outcome !== 'created') throw new Error(made.outcome)
  if (credits > 0)
    await db.transaction((tx) =>
      enterCredits(tx, { accountId, kind: 'grant', delta: credits, reason: 'for a test' }),
    )
  const { id: keyId, key } = made
  return { accountId, keyId, key, headers: { Authorization: `Bearer ${key}` } }
}
