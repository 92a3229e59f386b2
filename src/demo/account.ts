/** The demo's account: two API keys in files, and credits. For local use only. */
import { chmod } from 'node:fs/promises'
import { shownKey } from '../accounts/access/api-key.ts'
import { createAccount, createRecordedKey, isActive } from '../accounts/access/manage.ts'
import { type Account, findAccount, findKeys } from '../accounts/api.ts'
import { operator, recordAction } from '../audit/record.ts'
import { grantCredits } from '../billing/credits/credits.ts'
import { type Environment, environments, scopes } from '../edge/http/callers.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { keyFile, readText, writeFileAtomically } from './files.ts'

export const accountName = 'demo'
const credits = 1_000

/**
 * Creates the account, its API keys and its credits if missing. If the file of a key was deleted,
 * creates another key, because the database keeps only a digest of the first one.
 */
export async function ensureDemoAccount(db: Db, dataDir: string, now: Date): Promise<void> {
  for (const environment of environments) {
    const file = keyFile(dataDir, environment)
    const known = (await readText(file))?.trim() ?? ''
    if (await isKeyOfDemo(db, known, now)) continue
    const key = await db.transaction((tx) => makeKey(tx, environment, now))
    if (key === null) continue
    await writeFileAtomically(file, `${key}\n`)
    await chmod(file, 0o600)
  }
}

async function isKeyOfDemo(db: Db, key: string, now: Date): Promise<boolean> {
  const account = await findAccount(db, accountName)
  const keys = account === undefined ? [] : await findKeys(db, account.id)
  return keys.some((one) => isActive(one, now) && one.shown === shownKey(key))
}

/** Creates the account, a key and credits. Returns null if the account is at its key limit. */
async function makeKey(tx: Tx, environment: Environment, now: Date): Promise<string | null> {
  const made = await createDemoAccount(tx, accountName, now)
  const accountId = made?.id ?? (await findAccount(tx, accountName))?.id ?? ''
  const name = environment === 'live' ? accountName : 'sandbox'
  const allowed = environment === 'live' ? scopes : readScopes
  const rights = { environment, scopes: allowed, allowedFrom: null, expiresAt: null } as const
  const by = { actor: operator(), now }
  const created = await createRecordedKey(tx, { accountId, name, ...rights }, by)
  if (created === null) return null
  const entry = { accountId, delta: credits, reason: 'demo' }
  await grantCredits(tx, { ...entry, reference: `demo ${accountId}` }, by)
  return created.key
}

/** Creates an account with its audit entry. Returns null if the name is in use. */
export async function createDemoAccount(tx: Tx, name: string, now: Date): Promise<Account | null> {
  const account = await createAccount(tx, name, now)
  if (account === null) return null
  const entry = { action: 'accounts.created', subjects: [account.id], details: {} } as const
  await recordAction(tx, { ...entry, actor: operator() }, now)
  return account
}

const readScopes = ['candidates:read', 'scores:read'] as const
