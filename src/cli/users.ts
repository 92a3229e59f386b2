/** `assay users …` and `assay accounts members`: the developers who sign in with a browser. */
import { parseEmail } from '../accounts/email.ts'
import { sessionTimes } from '../accounts/sessions.ts'
import { linkUrl } from '../accounts/sign-in.ts'
import { findUserByEmail, findUsers } from '../accounts/store.ts'
import { disableUser, enableUser, eraseUser, inviteUser, printLink } from '../accounts/users.ts'
import type { ActionContext } from '../audit/action.ts'
import { operator } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { roles } from '../platform/http/callers.ts'
import { parseName } from './args.ts'
import { withDatabase } from './context.ts'
import { Failure, failure, usageError } from './fail.ts'
import { accountNamed } from './names.ts'
import { done, type Outcome } from './output.ts'

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
  if (role === undefined) throw usageError(`The role is ${flags.role}. Use owner or member.`)
  const name = flags.name === undefined ? null : parseName(flags.name)
  return withDatabase(config, async (db) => {
    const account = await accountNamed(db, flags.account)
    const isMailed = config.mail !== null
    const invitation = { email, name, accountId: account.id, role, isMailed }
    const { outcome, userId } = await inviteUser(contextOf(db), invitation)
    if (outcome === 'disabled')
      throw failure(`${email} is disabled: run \`assay users enable ${email}\` first.`)
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
      throw failure(`${email} is disabled: run \`assay users enable ${email}\` first.`)
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
      throw usageError(
        `This deletes ${email}, with memberships and sessions; accounts stay. It cannot be undone: repeat it with --yes.`,
      )
    }
    const userId = await eraseUser(contextOf(db), email)
    if (userId === null) throw noUser(email)
    return done({ ok: true, userId }, [`erased ${email}`])
  })
}

function contextOf(db: Db): ActionContext {
  return { db, actor: operator(), clock: systemClock }
}

function parseAddress(text: string): string {
  const email = parseEmail(text)
  if (email === null) throw usageError(`${JSON.stringify(text)} is not a mail address.`)
  return email
}

function noUser(email: string): Failure {
  return failure(`No user has the address ${email}: \`assay users list\` shows them.`)
}
