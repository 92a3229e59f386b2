/** `assay users`: the developers who sign in with a browser. */
import type { Command } from 'commander'
import { findOpenInvitations } from '../../accounts/invitation-store.ts'
import {
  invitationDays,
  invitationUrl,
  inviteMember,
  membersMax,
  resendInvitation,
  withdrawInvitation,
} from '../../accounts/invitations.ts'
import { sessionTimes } from '../../accounts/sessions.ts'
import { linkUrl } from '../../accounts/sign-in.ts'
import { findUserByEmail, findUsers } from '../../accounts/store.ts'
import { disableUser, enableUser, eraseUser, printLink } from '../../accounts/users.ts'
import { wireTime } from '../../platform/clock.ts'
import { type Role, roles } from '../../platform/http/callers.ts'
import { accountOption, oneOf, parseEmailAddress } from '../args.ts'
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
    'Invite a mail address to an account: by mail if SMTP_URL is set, else with a link',
    "assay users invite ada@example.org --account 'Example Ltd'",
  )
    .argument(...emailArgument)
    .requiredOption(...accountOption)
    .option('--role <role>', 'owner or member', oneOf(roles), 'owner')
    .action(act(invite))

  command(
    users,
    'withdraw',
    'Withdraw an open invitation, so that its link does not work any more',
    "assay users withdraw ada@example.org --account 'Example Ltd'",
  )
    .argument(...emailArgument)
    .requiredOption(...accountOption)
    .action(act(withdraw))

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
    'Delete a user, with memberships, invitations, sessions and waiting mails',
    'assay users erase ada@example.org --yes',
  )
    .argument(...emailArgument)
    .option('--yes', 'go ahead; without it, the command explains the consequences')
    .action(act(erase))
}

interface InviteFlags {
  account: string
  role: Role
}

/** Invites an address. If it is invited already, sends a new mail, or prints a new link. */
function invite(email: string, { account: named, role }: InviteFlags): Promise<Outcome> {
  return withContext(async (context) => {
    const account = await accountNamed(context.db, named)
    const { mail, publicUrl } = context.config
    const isMailed = mail !== null
    const user = await findUserByEmail(context.db, email)
    if (user !== undefined && user.disabledAt !== null) throw disabledUser(email)
    const own = { accountId: account.id, invitedBy: null, isMailed }
    const invited = await inviteMember(context, { ...own, email, role })
    if (invited.outcome === 'member already')
      return done({ userId: invited.userId, changed: false }, [
        `${email} is a member of ${account.name} already: nothing changed.`,
      ])
    if (invited.outcome === 'too many members')
      throw failure(
        `${account.name} has ${membersMax} members and open invitations, which is the maximum. Withdraw an invitation first.`,
      )
    // The limits hold for owners alone.
    if (invited.outcome === 'limited') throw new Error('the operator was limited')
    const { invitationId } = invited
    const sent =
      invited.outcome === 'invited'
        ? invited
        : await resendInvitation(context, { ...own, invitationId })
    const token = 'token' in sent ? sent.token : null
    const url = token === null ? null : invitationUrl(publicUrl, token)
    const changed = invited.outcome === 'invited'
    return done({ invitationId, changed, mailed: isMailed, ...(url !== null && { url }) }, [
      changed
        ? `invited ${email} to ${account.name} as ${role}`
        : `${email} is invited to ${account.name} already.`,
      ...(url === null
        ? ['A mail with the link is on its way.']
        : [url, `Give this link to that user alone. It works for ${invitationDays} days.`]),
    ])
  })
}

function withdraw(email: string, { account: named }: { account: string }): Promise<Outcome> {
  return withContext(async (context) => {
    const { id: accountId, name } = await accountNamed(context.db, named)
    const open = await findOpenInvitations(context.db, { accountId, now: context.clock() })
    const invitation = open.find((one) => one.email === email)
    const isWithdrawn =
      invitation !== undefined &&
      (await withdrawInvitation(context, { accountId, invitationId: invitation.id }))
    if (!isWithdrawn)
      throw failure(
        `${name} has no open invitation to ${email}. \`assay accounts members ${accountId}\` shows them.`,
      )
    return done({ invitationId: invitation.id }, [`withdrew the invitation of ${email} to ${name}`])
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
    if (link.outcome === 'no account')
      throw failure(`${email} is in no account. Run \`assay users invite\` first.`)
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
      throw usageError(
        `This deletes ${email}, with memberships, invitations and sessions; accounts stay. It cannot be undone. To go ahead, repeat the command with --yes.`,
      )
    }
    const erased = await eraseUser(context, email)
    if (erased === null) throw unknownUser(email)
    return done(erased, [`erased ${email}`])
  })
}

function unknownUser(email: string): Error {
  return failure(`No user has the address ${email}. \`assay users list\` shows all users.`)
}

function disabledUser(email: string): Error {
  return failure(`${email} is disabled. Run \`assay users enable ${email}\` first.`)
}
