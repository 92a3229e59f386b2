/** `assay users`: the developers who sign in with a browser. */
import type { Command } from 'commander'
import { sessionTimes } from '../../accounts/sessions.ts'
import { linkUrl } from '../../accounts/sign-in.ts'
import { findUserByEmail, findUsers } from '../../accounts/store.ts'
import { disableUser, enableUser, eraseUser, inviteUser, printLink } from '../../accounts/users.ts'
import { wireTime } from '../../platform/clock.ts'
import { type Role, roles } from '../../platform/http/callers.ts'
import { accountOption, oneOf, parseEmailAddress, parseName } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, usageError } from '../fail.ts'
import { accountNamed } from '../names.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed } from '../render.ts'

const emailArgument = ['<email>', 'the mail address of the user', parseEmailAddress] as const

export function declareCommand(users: Command): void {
  command(
    users,
    'invite',
    'Make a user a member of an account, and send a mail if SMTP_URL is set',
    "assay users invite ada@example.org --account 'Example Ltd'",
  )
    .argument(...emailArgument)
    .requiredOption(...accountOption)
    .option('--role <role>', 'owner or member', oneOf(roles), 'owner')
    .option('--name <name>', 'shown to other members', parseName)
    .action(act(invite))

  command(
    users,
    'list',
    'Show every user, the accounts and the sessions',
    'assay users list',
  ).action(act(list))

  command(
    users,
    'sign-in-link',
    'Print a link that signs a user in: once, for 15 minutes',
    'assay users sign-in-link ada@example.org',
  )
    .argument(...emailArgument)
    .action(act(printSignInLink))

  command(
    users,
    'disable',
    'End every session of a user, and let the user sign in no more',
    'assay users disable ada@example.org',
  )
    .argument(...emailArgument)
    .action(act(disable))

  command(
    users,
    'enable',
    'Let a disabled user sign in again',
    'assay users enable ada@example.org',
  )
    .argument(...emailArgument)
    .action(act(enable))

  command(
    users,
    'erase',
    'Delete a user, with memberships, sessions and waiting mails',
    'assay users erase ada@example.org --yes',
  )
    .argument(...emailArgument)
    .option('--yes', 'go ahead; without it, the command explains the consequences')
    .action(act(erase))
}

interface InviteFlags {
  account: string
  role: Role
  name?: string
}

function invite(email: string, { account: named, role, name }: InviteFlags): Promise<Outcome> {
  return withContext(async (context) => {
    const account = await accountNamed(context.db, named)
    const { mail, oidc, publicUrl } = context.config
    const isMailed = mail !== null
    const invitation = { email, name: name ?? null, accountId: account.id, role, isMailed }
    const { outcome, userId } = await inviteUser(context, invitation)
    if (outcome === 'disabled') throw disabledUser(email)
    if (outcome === 'member already')
      return done({ userId, changed: false }, [
        `${email} is a member of ${account.name} already: nothing changed.`,
      ])
    const next =
      oidc === null
        ? `Next: \`assay users sign-in-link ${email}\`.`
        : `The user signs in with ${oidc.name} at ${publicUrl}/sign-in.`
    return done({ userId, changed: true, mailed: isMailed }, [
      `invited ${email} to ${account.name} as ${role}`,
      isMailed ? 'A mail is on its way.' : `SMTP_URL is not set, so no mail is sent. ${next}`,
    ])
  })
}

type ListedUser = Awaited<ReturnType<typeof findUsers>>[number]

const columns: Columns<ListedUser> = {
  email: ({ email }) => email,
  name: ({ name }) => name,
  accounts: ({ accounts }) => accounts.map(({ name, role }) => `${name} (${role})`).join(', '),
  sessions: ({ sessions }) => sessions,
  created: ({ createdAt }) => createdAt,
  disabled: ({ disabledAt }) => disabledAt,
}

function list(): Promise<Outcome> {
  return withContext(async ({ db, config, clock }) => {
    const rows = await findUsers(db, sessionTimes(config.sessions, clock()))
    const users = rows.map(({ createdAt, disabledAt, ...user }) => ({
      ...user,
      createdAt: wireTime(createdAt),
      disabledAt: disabledAt && wireTime(disabledAt),
    }))
    const none = 'There is no user yet. Run `assay users invite EMAIL --account NAME`.'
    return listed({ users }, { rows, columns, none })
  })
}

function printSignInLink(email: string): Promise<Outcome> {
  return withContext(async (context) => {
    const link = await printLink(context, email)
    if (link.outcome === 'no such user') throw unknownUser(email)
    if (link.outcome === 'disabled') throw disabledUser(email)
    const url = linkUrl(context.config.publicUrl, link.token)
    return done({ url }, [url, 'It works once, for 15 minutes. Give it to that user alone.'])
  })
}

function disable(email: string): Promise<Outcome> {
  return withContext(async (context) => {
    const result = await disableUser(context, email)
    if (result === null) throw unknownUser(email)
    return done(result, [
      result.changed
        ? `disabled ${email}: every session has ended`
        : `${email} is disabled already: nothing changed.`,
    ])
  })
}

function enable(email: string): Promise<Outcome> {
  return withContext(async (context) => {
    const result = await enableUser(context, email)
    if (result === null) throw unknownUser(email)
    return done(result, [
      result.changed ? `${email} may sign in again` : `${email} is not disabled: nothing changed.`,
    ])
  })
}

function erase(email: string, { yes = false }: { yes?: boolean }): Promise<Outcome> {
  return withContext(async (context) => {
    if (!yes) {
      if ((await findUserByEmail(context.db, email)) === undefined) throw unknownUser(email)
      throw usageError(
        `This deletes ${email}, with memberships and sessions; accounts stay. It cannot be undone. To go ahead, repeat the command with --yes.`,
      )
    }
    const userId = await eraseUser(context, email)
    if (userId === null) throw unknownUser(email)
    return done({ userId }, [`erased ${email}`])
  })
}

function unknownUser(email: string): Error {
  return failure(`No user has the address ${email}. \`assay users list\` shows all users.`)
}

function disabledUser(email: string): Error {
  return failure(`${email} is disabled. Run \`assay users enable ${email}\` first.`)
}
