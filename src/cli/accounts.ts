/** `assay accounts create|list|show`: who has keys and credits. */

import { createAccount } from '../access/manage.ts'
import { type Account, findAccount, findAccounts, findKeys } from '../access/store.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { findCreditAccount } from '../credits/store.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Queryable } from '../platform/db/db.ts'
import { lineOfKey, toldKey } from './api-keys-told.ts'
import { done, type Outcome } from './output.ts'
import { CommandError, UsageError } from './run.ts'
import { uuidForm } from './uuid-form.ts'
import { withDatabase } from './with-database.ts'

export function createAccountCommand(config: Config, name: string): Promise<Outcome> {
  const given = nameGiven(name)
  if (uuidForm.test(given))
    throw new UsageError('A name is not like an id: it would hide another account.')
  return withDatabase(config, async (db) => {
    const account = await db.transaction(async (tx) => {
      const now = systemClock()
      const made = await createAccount(tx, given, now)
      if (made === null) return null
      const entry = {
        actor: operator(),
        action: 'accounts.created',
        subjects: [made.id],
        details: {},
      } as const
      await recordAction(tx, entry, now)
      return made
    })
    if (account === null) throw new CommandError(`There is an account ${given} already.`)
    return done({ ok: true, account: told(account) }, [
      `created ${account.id} (${given})`,
      `Next: \`assay api-keys create ${account.id} --scope scores:read\`, \`assay credits grant ${account.id} 1000 --reason …\`.`,
    ])
  })
}

export function listAccountsCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const accounts = await findAccounts(db, systemClock())
    const rows = accounts.map(({ activeKeys, balance, ...account }) => ({
      ...told(account),
      activeKeys,
      credits: balance,
    }))
    const lines = rows.map(
      ({ id, name, activeKeys, credits }) =>
        `${id}  ${credits} credits  keys ${activeKeys}  ${name}`,
    )
    const none = ['There is no account yet: `assay accounts create NAME`.']
    return done({ ok: true, accounts: rows }, lines.length > 0 ? lines : none)
  })
}

export function showAccountCommand(config: Config, named: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const account = await accountNamed(db, named)
    const now = systemClock()
    const keys = (await findKeys(db, account.id)).map((key) => toldKey(key, now))
    const credits = await findCreditAccount(db, account.id)
    const balance = credits?.balance ?? 0
    const isSuspended = credits !== undefined && credits.suspendedAt !== null
    const report = {
      ok: true,
      account: told(account),
      credits: balance,
      suspended: isSuspended,
      keys,
    }
    return done(report, [
      `${account.name}  ${account.id}`,
      `  credits    ${balance}${isSuspended ? ', suspended: `assay credits audit`' : ''}`,
      ...keys.map((key) => `  ${lineOfKey(key)}`),
    ])
  })
}

/** By id or by name. Throws `CommandError` where there is none. */
export async function accountNamed(db: Queryable, named: string): Promise<Account> {
  const account = await findAccount(db, named)
  if (account === undefined) throw new CommandError(`There is no account ${JSON.stringify(named)}.`)
  return account
}

/** Throws `UsageError` for what no name of an account or a key can be. */
export function nameGiven(name: string): string {
  const given = name.trim()
  if (given === '' || given.length > 120 || /\p{C}/u.test(given))
    throw new UsageError('A name has 1 to 120 characters and no control characters.')
  return given
}

function told({ id, name, createdAt }: Account) {
  return { id, name, createdAt: wireTime(createdAt) }
}
