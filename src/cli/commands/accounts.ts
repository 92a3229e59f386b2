/** `assay accounts`: the accounts that own API keys and credits. */
import type { Command } from 'commander'
import { createAccount } from '../../access/manage.ts'
import { type Account, findAccounts, findKeys } from '../../access/store.ts'
import { findOpenInvitations } from '../../accounts/invitation-store.ts'
import { findMembers } from '../../accounts/store.ts'
import { findCreditAccount } from '../../credits/store.ts'
import { wireTime } from '../../platform/clock.ts'
import type { Role } from '../../platform/http/callers.ts'
import { renderFields } from '../../platform/render-fields.ts'
import { accountArgument, isUuid, parseName } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, usageError } from '../fail.ts'
import { accountNamed } from '../names.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed, renderTable } from '../render.ts'
import { keyColumns, keyReport } from './api-keys.ts'

export function declareCommand(accounts: Command): void {
  command(accounts, 'create', 'Create an account', "assay accounts create 'Example Ltd'")
    .argument('<name>', 'a name that no other account has', parseName)
    .action(act(create))

  command(
    accounts,
    'list',
    'Show every account, its keys and its credits',
    'assay accounts list',
  ).action(act(list))

  command(accounts, 'show', 'Show an account and its keys', "assay accounts show 'Example Ltd'")
    .argument(...accountArgument)
    .action(act(show))

  command(
    accounts,
    'members',
    'Show the users who may sign in for an account, and the open invitations',
    "assay accounts members 'Example Ltd'",
  )
    .argument(...accountArgument)
    .action(act(listMembers))
}

function create(name: string): Promise<Outcome> {
  if (isUuid(name))
    throw usageError(`${name} has the form of an id and could hide another account. Use a name.`)
  return withContext(async (context) => {
    const account = await createAccount(context, name)
    if (account === null)
      throw failure(`An account with the name ${name} exists already. Use another name.`)
    return done({ account: reportOf(account) }, [
      `created the account ${name} (${account.id})`,
      `Next: \`assay api-keys create ${account.id} --scope scores:read\` and \`assay credits grant ${account.id} 1000 --reason …\`.`,
    ])
  })
}

type ListedAccount = Awaited<ReturnType<typeof findAccounts>>[number]

const columns: Columns<ListedAccount> = {
  name: ({ name }) => name,
  credits: ({ balance }) => balance,
  keys: ({ activeKeys }) => activeKeys,
  created: ({ createdAt }) => createdAt,
  id: ({ id }) => id,
}

function list(): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const rows = await findAccounts(db, clock())
    const accounts = rows.map(({ activeKeys, balance, ...account }) => ({
      ...reportOf(account),
      activeKeys,
      credits: balance,
    }))
    const none = 'There is no account yet. Run `assay accounts create NAME`.'
    return listed({ accounts }, { rows, columns, none })
  })
}

function show(named: string): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const account = await accountNamed(db, named)
    const keys = await findKeys(db, account.id)
    const found = await findCreditAccount(db, account.id)
    const credits = found?.balance ?? 0
    const suspended = found !== undefined && found.suspendedAt !== null
    const now = clock()
    const report = { account: reportOf(account), credits, suspended }
    return done({ ...report, keys: keys.map((key) => keyReport(key, now)) }, [
      account.name,
      ...renderFields({
        id: account.id,
        created: account.createdAt,
        credits: suspended ? `${credits}, suspended: run \`assay credits audit\`` : credits,
      }),
      ...(keys.length === 0 ? [] : ['', ...renderTable(keys, keyColumns(now))]),
    ])
  })
}

interface MemberRow {
  email: string
  role: Role
  created: Date
  state: string
}

const memberColumns: Columns<MemberRow> = {
  email: ({ email }) => email,
  role: ({ role }) => role,
  created: ({ created }) => created,
  state: ({ state }) => state,
}

function listMembers(named: string): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const account = await accountNamed(db, named)
    const [members, open] = await Promise.all([
      findMembers(db, account.id),
      findOpenInvitations(db, { accountId: account.id, now: clock() }),
    ])
    const report = {
      members: members.map(({ createdAt, disabledAt, ...member }) => ({
        ...member,
        createdAt: wireTime(createdAt),
        disabledAt: disabledAt && wireTime(disabledAt),
      })),
      invitations: open.map(({ createdAt, expiresAt, mailedAt, ...invitation }) => ({
        ...invitation,
        createdAt: wireTime(createdAt),
        expiresAt: wireTime(expiresAt),
        mailedAt: mailedAt && wireTime(mailedAt),
      })),
    }
    const rows = [
      ...members.map(({ email, role, createdAt, disabledAt }) => {
        const state = disabledAt === null ? 'member' : 'disabled'
        return { email, role, created: createdAt, state }
      }),
      ...open.map(({ email, role, createdAt }) => {
        return { email, role, created: createdAt, state: 'invited' }
      }),
    ]
    const none = `${account.name} has no member. Run \`assay users invite EMAIL --account ${account.id}\`.`
    return listed(report, { rows, columns: memberColumns, none })
  })
}

function reportOf({ id, name, createdAt }: Account) {
  return { id, name, createdAt: wireTime(createdAt) }
}
