/** `assay users …` and `assay accounts members`: the developers who sign in with a browser. */
import { parseEmail } from '../accounts/email.ts'
import { sessionTimes } from '../accounts/sessions.ts'
import { linkUrl } from '../accounts/sign-in.ts'
import { findMembers, findUserByEmail, findUsers } from '../accounts/store.ts'
import { disableUser, enableUser, eraseUser, inviteUser, printLink } from '../accounts/users.ts'
import type { ActionContext } from '../audit/audited.ts'
import { operator } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { roles } from '../platform/http/callers.ts'
import { accountNamed, nameGiven } from './accounts.ts'
import { done, type Outcome } from './output.ts'
import { CommandError, UsageError } from './run.ts'
import { withDatabase } from './with-database.ts'

export interface InviteFlags {
  account: string
  role: string
  name?: string
}

export function inviteCommand(
  config: Config,
  address: string,
  flags: InviteFlags,
): Promise<Outcome> {
  const email = parseAddress(address)
  const role = roles.find((each) => each === flags.role)
  if (role === undefined) throw new UsageError(`The role is ${flags.role}. Use owner or member.`)
  const name = flags.name === undefined ? null : nameGiven(flags.name)
  return withDatabase(config, async (db) => {
    const account = await accountNamed(db, flags.account)
    const isMailed = config.mail !== null
    const invitation = { email, name, accountId: account.id, role, isMailed }
    const { outcome, userId } = await inviteUser(contextOf(db), invitation)
    if (outcome === 'disabled')
      throw new CommandError(`${email} is disabled: run \`assay users enable ${email}\` first.`)
    if (outcome === 'member already')
      return done({ ok: true, userId, changed: false }, [
        `${email} is a member of ${account.name} already: nothing changed`,
      ])
    return done({ ok: true, userId, changed: true, mailed: isMailed }, [
      `invited ${email} to ${account.name} as ${role}`,
      isMailed
        ? 'A mail is on its way.'
        : `No mail is sent without SMTP_URL. Next: \`assay users sign-in-link ${email}\`.`,
    ])
  })
}

export function listUsersCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const users = await findUsers(db, sessionTimes(config.sessions, systemClock()))
    const report = users.map(({ createdAt, disabledAt, ...user }) => ({
      ...user,
      createdAt: wireTime(createdAt),
      disabledAt: disabledAt && wireTime(disabledAt),
    }))
    const lines = users.map(({ email, accounts, sessions, disabledAt }) => {
      const member = accounts.map(({ name, role }) => `${name} (${role})`).join(', ')
      const state = disabledAt === null ? `sessions ${sessions}` : 'disabled'
      return `${email}  ${state}  ${member || 'no account'}`
    })
    const none = ['There is no user yet: `assay users invite EMAIL --account NAME`.']
    return done({ ok: true, users: report }, lines.length > 0 ? lines : none)
  })
}

export function signInLinkCommand(config: Config, address: string): Promise<Outcome> {
  const email = parseAddress(address)
  return withDatabase(config, async (db) => {
    const link = await printLink(contextOf(db), email)
    if (link.outcome === 'no such user') throw noUser(email)
    if (link.outcome === 'disabled')
      throw new CommandError(`${email} is disabled: run \`assay users enable ${email}\` first.`)
    const url = linkUrl(config.publicUrl, link.token)
    return done({ ok: true, url }, [
      url,
      'It works once, for 15 minutes. Give it to that user alone.',
    ])
  })
}

export function disableCommand(config: Config, address: string): Promise<Outcome> {
  const email = parseAddress(address)
  return withDatabase(config, async (db) => {
    const result = await disableUser(contextOf(db), email)
    if (result === null) throw noUser(email)
    return done({ ok: true, ...result }, [
      result.changed
        ? `disabled ${email}: every session has ended`
        : `${email} is disabled already`,
    ])
  })
}

export function enableCommand(config: Config, address: string): Promise<Outcome> {
  const email = parseAddress(address)
  return withDatabase(config, async (db) => {
    const result = await enableUser(contextOf(db), email)
    if (result === null) throw noUser(email)
    return done({ ok: true, ...result }, [
      result.changed ? `${email} may sign in again` : `${email} is not disabled`,
    ])
  })
}

export function eraseCommand(
  config: Config,
  address: string,
  flags: { yes?: boolean },
): Promise<Outcome> {
  const email = parseAddress(address)
  return withDatabase(config, async (db) => {
    if (!flags.yes) {
      if ((await findUserByEmail(db, email)) === undefined) throw noUser(email)
      throw new UsageError(
        `This deletes ${email}, with memberships and sessions; accounts stay. It cannot be undone: repeat it with --yes.`,
      )
    }
    const userId = await eraseUser(contextOf(db), email)
    if (userId === null) throw noUser(email)
    return done({ ok: true, userId }, [`erased ${email}`])
  })
}

export function membersCommand(config: Config, named: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const account = await accountNamed(db, named)
    const members = await findMembers(db, account.id)
    const report = members.map(({ createdAt, disabledAt, ...member }) => ({
      ...member,
      createdAt: wireTime(createdAt),
      disabledAt: disabledAt && wireTime(disabledAt),
    }))
    const lines = members.map(
      ({ email, role, disabledAt }) =>
        `${email}  ${role}${disabledAt === null ? '' : '  disabled'}`,
    )
    const none = [
      `${account.name} has no member: \`assay users invite EMAIL --account ${account.id}\`.`,
    ]
    return done({ ok: true, members: report }, lines.length > 0 ? lines : none)
  })
}

function contextOf(db: Db): ActionContext {
  return { db, actor: operator(), clock: systemClock }
}

function parseAddress(text: string): string {
  const email = parseEmail(text)
  if (email === null) throw new UsageError(`${JSON.stringify(text)} is not a mail address.`)
  return email
}

function noUser(email: string): CommandError {
  return new CommandError(`No user has the address ${email}: \`assay users list\` shows them.`)
}
