/** Accounts with their audit entries, and operations on accounts and users. */
import { createAccount } from '../../../src/accounts/access/manage.ts'
import { findAccount } from '../../../src/accounts/access/store.ts'
import type { UserServices } from '../../../src/accounts/user-operations.ts'
import { makeShownLink } from '../../../src/accounts/users.ts'
import { recordAction } from '../../../src/audit/record.ts'
import type { Performer } from '../../../src/operations/perform.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import type { Db, Tx } from '../../../src/platform/db/db.ts'
import { refuse } from '../../../src/platform/errors.ts'

/** Creates an account and returns its id. */
export async function newAccount(tx: Tx, name: string, now = new Date()): Promise<string> {
  const account = await createAccount(tx, name, now)
  if (account === null) throw new Error('the account was not made')
  const entry = { action: 'accounts.created', subjects: [account.id], details: {} } as const
  await recordAction(tx, { ...entry, actor: 'test' }, now)
  return account.id
}

/** Performs operations on accounts and users as a server does; an account's name is its id. */
export function userPerformer(
  db: Db,
  users: Partial<UserServices['users']> = {},
): Performer<UserServices> {
  return {
    db,
    clock: systemClock,
    services: {
      accounts: {
        named: async (on, text) => (await findAccount(on, text)) ?? refuse('account_not_found'),
        names: async () => new Map(),
      },
      users: {
        publicUrl: 'https://scores.example.org',
        operatorUrl: 'https://operator.example.org',
        sendsMail: false,
        sessions: { idleDays: 7, days: 30 },
        ...users,
      },
    },
  }
}

/** Returns the token of a new sign-in link of a user. */
export async function signInToken(db: Db, email: string, now = new Date()): Promise<string> {
  const link = await db.transaction((tx) => makeShownLink(tx, { email, next: null }, now))
  if ('refusal' in link) throw new Error(link.message)
  return link.token
}
