/** The demo's account: a key in a file, and credits. For trying out, not for others. */
import { chmod } from 'node:fs/promises'
import { shownKey } from '../access/api-key.ts'
import { createAccount, createKey, isActive } from '../access/manage.ts'
import { findAccount, findKeys } from '../access/store.ts'
import type { Action } from '../audit/actions.ts'
import { operator, recordAction } from '../audit/record.ts'
import { enterCredits } from '../credits/credits.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { scopes } from '../platform/http/callers.ts'
import { apiKeyFile, textOf, writeWhole } from './files.ts'

export const accountName = 'demo'
const credits = 1_000

/** Makes what is missing. A key whose file is gone is followed by another one: nobody can tell it any more. */
export async function demoAccount(
  db: Db,
  dataDir: string,
  { peppers, now }: { peppers: () => Promise<Keyring>; now: Date },
): Promise<void> {
  const file = apiKeyFile(dataDir)
  const known = (await textOf(file))?.trim() ?? ''
  if (await isKeyOfDemo(db, known, now)) return
  const ring = await peppers()
  const key = await db.transaction((tx) => makeKey(tx, { peppers: ring, now }))
  if (key === null) return
  await writeWhole(file, `${key}\n`)
  await chmod(file, 0o600)
}

async function isKeyOfDemo(db: Db, key: string, now: Date): Promise<boolean> {
  const account = await findAccount(db, accountName)
  const keys = account === undefined ? [] : await findKeys(db, account.id)
  return keys.some((one) => isActive(one, now) && one.shown === shownKey(key))
}

/** Null where the account has as many keys as it may have. */
async function makeKey(tx: Tx, made: { peppers: Keyring; now: Date }): Promise<string | null> {
  const { now } = made
  const done: Action[] = []
  const fresh = await createAccount(tx, accountName, now)
  const accountId = fresh?.id ?? (await findAccount(tx, accountName))?.id ?? ''
  if (fresh !== null) done.push({ action: 'accounts.created', subjects: [accountId], details: {} })
  const environment = 'live'
  const rights = { environment, scopes, allowedFrom: null, expiresAt: null } as const
  const wanted = { accountId, name: accountName, ...rights }
  const created = await createKey(tx, wanted, made)
  if (created.outcome !== 'created') return null
  const details = { account: accountId, environment } as const
  done.push({ action: 'api_keys.created', subjects: [created.id], details })
  const entry = { accountId, kind: 'grant', delta: credits, reason: 'demo' } as const
  const entered = await enterCredits(tx, { ...entry, reference: `demo ${accountId}` })
  if (entered.outcome === 'entered') {
    const { balance } = entered
    done.push({ action: 'credits.granted', subjects: [accountId], details: { credits, balance } })
  }
  for (const one of done) await recordAction(tx, { ...one, actor: operator() }, now)
  return created.key
}
