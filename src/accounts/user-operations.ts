/** The operations on users, and on the invitations by which they begin (decision D47). */
import { type Static, Type } from 'typebox'
import { roles } from '../edge/http/callers.ts'
import { eraseReplays } from '../operations/api.ts'
import {
  type AccountServices,
  accountField,
  afterRow,
  findField,
  flagField,
  limitField,
  madeId,
  nextField,
  orNull,
  ownerNamed,
  pageOf,
  time,
  userName,
} from '../operations/fields.ts'
import { type Context, changed, operationsFor, unchanged } from '../operations/operation.ts'
import { refuse } from '../platform/errors.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'
import { renderFields } from '../platform/render-fields.ts'
import { emailField } from './email.ts'
import {
  invitationDays,
  invitationUrl,
  inviteMember,
  membersMax,
  resendInvitation,
  type Sending,
  withdrawInvitation,
} from './invitations.ts'
import { type SessionRules, sessionTimes } from './sessions.ts'
import { consolePath, linkUrl } from './sign-in.ts'
import { findUserByEmail, findUsers } from './store.ts'
import {
  disabledUser,
  disableUser,
  enableUser,
  eraseUser,
  makeShownLink,
  unknownUser,
} from './users.ts'

export interface UserServices extends AccountServices {
  users: {
    publicUrl: string
    /** Origin of the console. */
    operatorUrl: string
    /** False: links are shown instead of mailed. */
    sendsMail: boolean
    sessions: SessionRules
  }
}

const { read, change } = operationsFor<UserServices>()

const account = accountField
const email = emailField
const url = Type.Optional(
  Type.String({ description: 'Shown once; absent if it is mailed.', 'x-secret': true }),
)
const mailed = Type.Boolean({ description: 'Whether the link is mailed.' })

function sendingOf(
  of: { accountId: string; email: string },
  { userId: invitedBy, services }: Context<UserServices>,
): Sending {
  return { ...of, invitedBy, isMailed: services.users.sendsMail }
}

/** Returns what the caller learns of an invitation that was sent. */
function sentOutput(
  { invitationId, token }: { invitationId: string; token: string | null },
  { services: { users } }: Context<UserServices>,
) {
  const link = token === null ? {} : { url: invitationUrl(users.publicUrl, token) }
  return { invitationId, mailed: users.sendsMail, ...link }
}

function linkLines(link: string | undefined): readonly string[] {
  return link === undefined
    ? ['A mail with the link is on its way.']
    : [link, `Give this link to that user alone. It works for ${invitationDays} days.`]
}

export const usersInvite = change({
  name: 'users invite',
  http: 'POST /accounts/{account}/invitations',
  summary: 'Invite a mail address to an account: by mail if SMTP_URL is set, else with a link',
  who: { operator: 'support', member: 'owner' },
  path: { account },
  input: {
    email,
    role: Type.Enum([...roles], { default: 'owner', description: roles.join(' or ') }),
  },
  positional: ['email'],
  output: closedObject({
    account: Type.String({ description: 'The name of the account.' }),
    userId: Type.Optional(Type.String({ description: 'Present if the user is a member.' })),
    invitationId: Type.Optional(madeId),
    changed: Type.Boolean({ description: 'Whether the invitation is new.' }),
    mailed: Type.Optional(mailed),
    url,
  }),
  refusals: [
    'account_not_found',
    'user_disabled',
    'invited_already',
    'invitation_not_found',
    'members_maximum',
    'rate_limited',
  ],
  example: { account: 'Example Ltd', email: 'ada@example.org', role: 'owner' },
  audit: 'users.invited',
  renderLines({ account: name, userId, changed: isNew, url: link }, { email: to, role }) {
    if (userId !== undefined) return [`${to} is a member of ${name} already: nothing changed.`]
    const first = isNew
      ? `invited ${to} to ${name} as ${role}`
      : `${to} is invited to ${name} already.`
    return [first, ...linkLines(link)]
  },
  async run(tx, { account: named, email: to, role }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const { owner, now } = context
    const isOperator = owner === 'any'
    // An owner learns nothing of users who are not members.
    if (isOperator && (await findUserByEmail(tx, to))?.disabledAt) return disabledUser(to)
    const sending = sendingOf({ accountId: of.id, email: to }, context)
    const invited = await inviteMember(tx, { ...sending, role }, now)
    if ('memberId' in invited)
      return unchanged({ account: of.name, userId: invited.memberId, changed: false })
    // An operator who invites once more wants another mail or link.
    const isAgain = isOperator && 'refusal' in invited && invited.refusal === 'invited_already'
    const sent = isAgain ? await resendInvitation(tx, sending, now) : invited
    if ('refusal' in sent)
      return isOperator && sent.refusal === 'members_maximum'
        ? { ...sent, message: atMaximum(of.name) }
        : sent
    const entry = { subjects: [sent.invitationId], details: { account: of.id, role } }
    return changed({ account: of.name, changed: !isAgain, ...sentOutput(sent, context) }, entry)
  },
})

function atMaximum(name: string): string {
  return `${name} has ${membersMax} members and open invitations, which is the maximum.`
}

export const usersResend = change({
  name: 'users resend',
  http: 'POST /accounts/{account}/invitations/{email}/resend',
  summary: 'Mail an open invitation again, or make a new link of it',
  who: { operator: 'support', member: 'owner' },
  path: { account, email },
  positional: ['email'],
  output: closedObject({ invitationId: Type.String(), mailed, url }),
  refusals: ['account_not_found', 'invitation_not_found', 'rate_limited'],
  example: { account: 'Example Ltd', email: 'ada@example.org' },
  audit: 'users.invitation_resent',
  renderLines: ({ url: link }) => linkLines(link),
  async run(tx, { account: named, email: to }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const sending = sendingOf({ accountId: of.id, email: to }, context)
    const sent = await resendInvitation(tx, sending, context.now)
    if ('refusal' in sent)
      return sent.refusal === 'invitation_not_found' ? noInvitation(of.name, to) : sent
    const entry = { subjects: [sent.invitationId], details: { account: of.id } }
    return changed(sentOutput(sent, context), entry)
  },
})

export const usersWithdraw = change({
  name: 'users withdraw',
  http: 'POST /accounts/{account}/invitations/{email}/withdraw',
  summary: 'Withdraw an open invitation, so that its link does not work any more',
  who: { operator: 'support', member: 'owner' },
  path: { account, email },
  positional: ['email'],
  output: closedObject({
    account: Type.String({ description: 'The name of the account.' }),
    invitationId: Type.String(),
  }),
  refusals: ['account_not_found', 'invitation_not_found'],
  example: { account: 'Example Ltd', email: 'ada@example.org' },
  audit: 'users.invitation_withdrawn',
  renderLines: ({ account: name }, { email: to }) => [
    `withdrew the invitation of ${to} to ${name}`,
  ],
  async run(tx, { account: named, email: to }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const withdrawn = await withdrawInvitation(tx, { accountId: of.id, email: to }, context.now)
    if ('refusal' in withdrawn) return noInvitation(of.name, to)
    const { invitationId } = withdrawn
    const entry = { subjects: [invitationId], details: { account: of.id } }
    return changed({ account: of.name, invitationId }, entry)
  },
})

function noInvitation(name: string, to: string) {
  return refuse('invitation_not_found', { message: `${name} has no open invitation to ${to}.` })
}

const listedUser = closedObject({
  id: Type.String(),
  email: Type.String(),
  name: userName,
  createdAt: time,
  disabledAt: orNull(time, 'Null if the user may sign in.'),
  accounts: listOf({ id: Type.String(), name: Type.String(), role: Type.Enum([...roles]) }),
  sessions: Type.Integer({ description: 'Sessions that are valid.' }),
})
type WireUser = Static<typeof listedUser>

function accountsText({ accounts }: WireUser): string {
  return accounts.map(({ name, role }) => `${name} (${role})`).join(', ')
}

export const usersList = read({
  name: 'users list',
  http: 'GET /users',
  summary: 'Show every user, the accounts and the sessions',
  who: { operator: 'viewer' },
  input: {
    find: findField('a part of the mail address or of the name'),
    limit: { ...limitField, default: 1_000 },
    after: afterRow('^\\S{3,254}$'),
  },
  output: closedObject({ users: Type.Array(listedUser), next: nextField }),
  example: { find: '@example.org', limit: 1_000 },
  none: 'There is no such user. Run `assay users invite EMAIL --account NAME`.',
  columns: {
    email: 'email',
    name: 'name',
    accounts: accountsText,
    sessions: 'sessions',
    created: 'createdAt',
    disabled: 'disabledAt',
  },
  async run(db, { find = null, limit, after = null }, { now, services }) {
    const times = sessionTimes(services.users.sessions, now)
    const found = await findUsers(db, { find, after, limit: limit + 1, ...times })
    const { rows, next } = pageOf(found, limit, (user) => user.email)
    return { users: rows, next }
  },
})

export const usersShow = read({
  name: 'users show',
  http: 'GET /users/{email}',
  summary: 'Show a user, the accounts and the sessions',
  who: { operator: 'viewer' },
  path: { email },
  output: closedObject({ user: listedUser }),
  refusals: ['user_not_found'],
  example: { email: 'ada@example.org' },
  renderLines: ({ user }) => [
    user.email,
    ...renderFields({
      name: user.name,
      accounts: accountsText(user),
      sessions: user.sessions,
      created: user.createdAt,
      disabled: user.disabledAt,
      id: user.id,
    }),
  ],
  async run(db, { email: of }, { now, services }) {
    const times = sessionTimes(services.users.sessions, now)
    const [user] = await findUsers(db, { email: of, limit: 1, ...times })
    return user === undefined ? unknownUser(of) : { user }
  },
})

export const usersSignInLink = change({
  name: 'users sign-in-link',
  http: 'POST /users/{email}/sign-in-link',
  summary: 'Print a link that signs a user in: once, for 15 minutes',
  who: { operator: 'admin' },
  path: { email },
  input: { console: flagField('for the console of the operator') },
  output: closedObject({ url: Type.String({ 'x-secret': true }) }),
  refusals: ['user_not_found', 'user_disabled', 'user_without_account'],
  example: { email: 'ada@example.org', console: false },
  audit: 'users.link_made',
  when: isEnabled,
  renderLines: ({ url: link }) => [
    link,
    'It works once, for 15 minutes. Give it to that user alone.',
  ],
  async run(tx, { email: of, console: isForConsole }, { now, services }) {
    const next = isForConsole ? consolePath : null
    const link = await makeShownLink(tx, { email: of, next }, now)
    if ('refusal' in link) return link
    const { publicUrl, operatorUrl } = services.users
    const output = { url: linkUrl(isForConsole ? operatorUrl : publicUrl, link.token) }
    return changed(output, { subjects: [link.userId] })
  },
})

function isEnabled(record: object): boolean {
  return Reflect.get(record, 'disabledAt') === null
}

const userChange = closedObject({ userId: Type.String(), changed: Type.Boolean() })

export const usersDisable = change({
  name: 'users disable',
  http: 'POST /users/{email}/disable',
  summary: 'End every session of a user, and let the user sign in no more',
  who: { operator: 'support' },
  path: { email },
  output: userChange,
  refusals: ['user_not_found'],
  example: { email: 'ada@example.org' },
  audit: 'users.disabled',
  when: isEnabled,
  renderLines: ({ changed: isNew }, { email: of }) => [
    isNew
      ? `disabled ${of}: every session has ended`
      : `${of} is disabled already: nothing changed.`,
  ],
  async run(tx, { email: of }, { now }) {
    const disabled = await disableUser(tx, of, now)
    if ('refusal' in disabled) return disabled
    return disabled.changed
      ? changed(disabled, { subjects: [disabled.userId] })
      : unchanged(disabled)
  },
})

export const usersEnable = change({
  name: 'users enable',
  http: 'POST /users/{email}/enable',
  summary: 'Let a disabled user sign in again',
  who: { operator: 'support' },
  path: { email },
  output: userChange,
  refusals: ['user_not_found'],
  example: { email: 'ada@example.org' },
  audit: 'users.enabled',
  when: (record) => !isEnabled(record),
  renderLines: ({ changed: isNew }, { email: of }) => [
    isNew ? `${of} may sign in again` : `${of} is not disabled: nothing changed.`,
  ],
  async run(tx, { email: of }) {
    const enabled = await enableUser(tx, of)
    if ('refusal' in enabled) return enabled
    return enabled.changed ? changed(enabled, { subjects: [enabled.userId] }) : unchanged(enabled)
  },
})

export const usersErase = change({
  name: 'users erase',
  http: 'POST /users/{email}/erase',
  summary: 'Delete a user, with memberships, invitations, sessions and waiting mails',
  who: { operator: 'admin' },
  path: { email },
  output: closedObject({
    userId: orNull(Type.String(), 'Null: there were invitations alone.'),
    invitations: Type.Integer(),
  }),
  refusals: ['user_not_found'],
  example: { email: 'ada@example.org' },
  audit: 'users.erased',
  danger:
    'The memberships, invitations and sessions are deleted as well; accounts stay. It cannot be undone.',
  renderLines: (_, { email: of }) => [`erased ${of}`],
  async run(tx, { email: of }) {
    const erased = await eraseUser(tx, of)
    if ('refusal' in erased) return erased
    const { userId, invitationIds } = erased
    await eraseReplays(tx, [of])
    const output = { userId, invitations: invitationIds.length }
    return changed(output, { subjects: userId === null ? invitationIds : [userId] })
  },
})

/** In the order of the help. */
export const userOperations = [
  usersInvite,
  usersResend,
  usersWithdraw,
  usersList,
  usersShow,
  usersSignInLink,
  usersDisable,
  usersEnable,
  usersErase,
] as const
