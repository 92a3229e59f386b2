/** The page of the members of the account, and of the addresses that it has invited. */
import { Type } from 'typebox'
import {
  findMembers,
  findNoticeReaders,
  findOpenInvitations,
  type Member,
  type NoticeReader,
  type OpenInvitation,
  ownerNotices,
} from '../../accounts/api.ts'
import { invitationDays, membersMax } from '../../accounts/invitations.ts'
import {
  membersMakeOwner,
  membersNotices,
  membersRemove,
} from '../../accounts/member-operations.ts'
import {
  type UserServices,
  usersInvite,
  usersResend,
  usersWithdraw,
} from '../../accounts/user-operations.ts'
import { ownerNoticeNames } from '../../audit/account-actions.ts'
import type { SessionCaller } from '../../edge/http/callers.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { uuidForm } from '../../edge/http/fields.ts'
import type { Operation } from '../../operations/operation.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import {
  actionForm,
  badge,
  card,
  choicesField,
  chosenBoxes,
  code,
  confirmation,
  type FieldErrors,
  formErrors,
  hidden,
  type Results,
  result,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import {
  dashboardPage,
  type Fields,
  type PagesContext,
  queryText,
  type Shown,
  type View,
  type Visit,
} from '../page.ts'
import { counted, dateTag, timeTag, waitingTime } from '../text.ts'

const path = '/dashboard/team'

interface Form {
  email: string
  role: string
  errors: FieldErrors
}

const emptyForm: Form = { email: '', role: 'member', errors: {} }

export function teamPage(options: PagesContext): Endpoint[] {
  const { db, services } = options
  const { sendsMail } = services.users
  const view = async (
    session: SessionCaller,
    { now, result: top, form = emptyForm }: { now: Date; result?: Part; form?: Form },
  ): Promise<View> => {
    const { accountId, userId: ownId } = session
    const [members, readers, invitations] = await Promise.all([
      findMembers(db, accountId),
      findNoticeReaders(db, accountId),
      findOpenInvitations(db, { accountId, now }),
    ])
    const isOwner = session.role === 'owner'
    const hasErrors = Object.keys(form.errors).length > 0
    return {
      title: hasErrors ? 'Error: team' : 'Team',
      ...(hasErrors ? { status: 400 } : {}),
      top,
      head: {
        title: 'Team',
        text: 'Owners manage members, API keys and credits. Members do everything else.',
      },
      main: html`<div class="columns main-side">
${card({
  title: 'Members',
  isFlush: true,
  body: memberTable([...members, ...invitations], { ownId, isOwner, sendsMail, now }),
})}
${isOwner && inviteCard(form)}
</div>
${readers.map((reader) => reader.userId === ownId && noticesCard(reader, sendsMail))}`,
    }
  }
  /** The link is in the answer to the POST itself, so a reload makes no other one. */
  const linkView = (session: SessionCaller, now: Date, url: string): Promise<View> =>
    view(session, { now, result: linkNotice(url) })
  const by =
    (operation: Operation<UserServices>, done: string, unknown: Refusal) =>
    async (
      { perform, session }: Pick<Visit, 'perform' | 'session'>,
      { email = '' }: Fields,
    ): Promise<Shown> => {
      const changed = await perform(operation, { account: session.accountId, email })
      return 'refusal' in changed
        ? refused(changed, unknown)
        : { redirectTo: `${path}?done=${done}` }
    }

  return dashboardPage(options, {
    path,
    results: done,
    queryParameters: Type.Object({ remove: queryText }),
    async show({ session, now, query: { remove = '' } }) {
      const userId = remove.toLowerCase()
      if (session.role !== 'owner' || userId === session.userId || !uuidForm.test(userId))
        return view(session, { now })
      const members = await findMembers(db, session.accountId)
      const member = members.find((one) => one.userId === userId)
      return member === undefined ? view(session, { now }) : removalView(member)
    },
    actions: {
      async invite({ perform, session, now }, { email: typed = '', role: wanted = '' }) {
        const form = (text: string, field: 'email' | 'form' = 'email') => {
          const errors = { [field]: text }
          return view(session, { now, form: { email: typed.slice(0, 254), role: wanted, errors } })
        }
        const role = wanted === 'owner' ? 'owner' : 'member'
        const input = { account: session.accountId, email: typed, role } as const
        const invited = await perform(usersInvite, input)
        if ('refusal' in invited) {
          const text = invitationProblem(invited)
          return text === undefined
            ? invited
            : form(text, invited.refusal in addressProblems ? 'email' : 'form')
        }
        const { userId, url } = invited.output
        if (userId !== undefined) return form('This address is a member already.')
        return url === undefined
          ? { redirectTo: `${path}?done=invited` }
          : linkView(session, now, url)
      },
      async resend({ perform, session, now }, { email = '' }) {
        const input = { account: session.accountId, email }
        const sent = await perform(usersResend, input)
        if ('refusal' in sent)
          return sent.refusal === 'rate_limited'
            ? view(session, {
                now,
                result: result('warning', 'No mail was sent.', limitedText(sent)),
              })
            : refused(sent, noInvitation)
        const { url } = sent.output
        return url === undefined
          ? { redirectTo: `${path}?done=resent` }
          : linkView(session, now, url)
      },
      withdraw: by(usersWithdraw, 'withdrawn', noInvitation),
      async notices({ perform, session }, fields) {
        const own = (await findMembers(db, session.accountId)).find(
          ({ userId }) => userId === session.userId,
        )
        const on = chosenBoxes(fields, 'notices')
        const off = ownerNoticeNames.filter((name) => !on.includes(name))
        const input = { account: session.accountId, email: own?.email ?? '', off }
        const chosen = await perform(membersNotices, input)
        return 'refusal' in chosen
          ? refused(chosen, noMember)
          : { redirectTo: `${path}?done=notices` }
      },
      promote: by(membersMakeOwner, 'promoted', noMember),
      async remove(visit, fields) {
        const members = await findMembers(db, visit.session.accountId)
        const isOwn = members.some(
          ({ userId, email }) => userId === visit.session.userId && email === fields.email,
        )
        return isOwn
          ? { redirectTo: '/dashboard/leave' }
          : by(membersRemove, 'removed', noMember)(visit, fields)
      },
    },
  })
}

/** `unknown` answers an address that is none of the account. */
function refused(refusal: Refusal, unknown: Refusal): Shown {
  if (refusal.refusal === 'last_owner') return { redirectTo: `${path}?done=last-owner` }
  return refusal.refusal === 'owner_required' ? refusal : unknown
}

const noMember = refuse('not_found', { message: 'This account has no such member.' })
const noInvitation = refuse('not_found', { message: 'This account has no such open invitation.' })

const done: Results = {
  positive: {
    invited: `The invitation is on its way. The mail holds a link to join. It works for ${invitationDays} days.`,
    resent: 'The invitation is on its way again. The link in the new mail works as well.',
    withdrawn: 'The invitation is withdrawn. Its link does not work any more.',
    promoted: 'The member is an owner now. Owners manage members, API keys and credits.',
    notices: 'Your notices are stored. They apply from the next mail on.',
    removed:
      'The member is removed. The sessions in this account have ended. API keys stay: revoke those that the member knows.',
  },
  warning: {
    'last-owner':
      'Nothing was changed. An account keeps at least one owner. Make another member an owner first.',
  },
}

function limitedText({ message, headers }: Refusal): string {
  return `${message} Try again in ${waitingTime(Number(headers?.['Retry-After']))}.`
}

/** Problems of the typed address. */
const addressProblems: Readonly<Record<string, string>> = {
  invalid_field: 'This is not a mail address. Enter one such as ada@example.com.',
  invited_already: 'This address is invited already. The list has its invitation.',
}

function invitationProblem(refusal: Refusal): string | undefined {
  if (refusal.refusal === 'rate_limited') return limitedText(refusal)
  return refusal.refusal === 'members_maximum'
    ? `The account has ${membersMax} members and open invitations, which is the maximum.`
    : addressProblems[refusal.refusal]
}

function linkNotice(url: string): Html {
  const told = result(
    'info',
    `This service sends no mail: hand this link over. Its holder can join, for ${invitationDays} days. It is shown once; a new link replaces it.`,
  )
  return html`${told}${code({ id: 'invitation-link', label: 'Link to join', text: url, isWrapped: true })}`
}

interface Viewer {
  ownId: string
  isOwner: boolean
  sendsMail: boolean
  now: Date
}

/** An invitation has no more than the address that was typed: it says nothing about a user. */
function memberTable(rows: readonly (Member | OpenInvitation)[], viewer: Viewer): Html {
  const { ownId, now } = viewer
  return table<Member | OpenInvitation>({
    label: 'Members',
    rows,
    columns: [
      {
        head: 'User',
        cell(row) {
          if ('expiresAt' in row)
            return html`<strong class="break">${row.email}</strong><span class="sub">Invited ${timeTag(row.createdAt, now)}</span>`
          const { userId, name, email } = row
          return html`<strong class="break" dir="auto">${name ?? email}</strong>${userId === ownId && html` <span class="tag">You</span>`}${name !== null && html`<span class="sub break">${email}</span>`}`
        },
      },
      { head: 'Role', cell: roleBadge },
      {
        head: 'Joined',
        priority: 2,
        cell: (row) =>
          'expiresAt' in row ? html`Ends ${timeTag(row.expiresAt, now)}` : dateTag(row.createdAt),
      },
      {
        head: 'Action',
        isHeadHidden: true,
        isNumber: true,
        cell: (row) => actionsOf(row, viewer),
      },
    ],
  })
}

function roleBadge(row: Member | OpenInvitation): Html {
  if ('expiresAt' in row)
    return badge('info', 'mail', row.role === 'owner' ? 'Invited as owner' : 'Invited')
  if (row.disabledAt !== null) return badge('negative', 'lock', 'Disabled')
  return row.role === 'owner'
    ? badge('accent', 'key', 'Owner')
    : badge('neutral', 'people', 'Member')
}

function actionsOf(
  row: Member | OpenInvitation,
  { ownId, isOwner, sendsMail }: Viewer,
): Html | false {
  const of = html`<span class="hidden-visually"> ${row.email}</span>`
  if ('expiresAt' in row) {
    const fields = { email: row.email }
    return (
      isOwner &&
      html`<div class="row">${actionForm(path, 'resend', {
        label: html`${sendsMail ? 'Resend' : 'New link'}${of}`,
        isSmall: true,
        fields,
      })}${actionForm(path, 'withdraw', { label: html`Withdraw${of}`, isSmall: true, fields })}</div>`
    )
  }
  const { userId, email, role } = row
  if (userId === ownId) return html`<a class="button small" href="/dashboard/leave">Leave</a>`
  return (
    isOwner &&
    html`<div class="row">${
      role === 'member' &&
      actionForm(path, 'promote', {
        label: html`Make owner${of}`,
        isSmall: true,
        fields: { email },
      })
    }<a class="button danger small" href="${`${path}?remove=${userId}`}">Remove${of}</a></div>`
  )
}

function removalView({ email, name }: Member): View {
  return {
    title: 'Remove member',
    main: confirmation({
      title: html`Remove <bdi>${name ?? email}</bdi>?`,
      text: `${email} is signed out of this account at once, and cannot sign in to it again until the address accepts a new invitation. API keys stay valid: revoke those that the member knows.`,
      url: path,
      action: 'remove',
      fields: { email },
      button: 'Remove member',
      cancel: { label: 'Keep member', url: path },
      above: [{ title: 'Team', url: path }],
    }),
  }
}

/** What the signed-in owner gets by mail. */
function noticesCard({ off }: NoticeReader, sendsMail: boolean): Html {
  return card({
    id: 'notices',
    title: 'Notices by mail',
    text: sendsMail
      ? 'You get each at most once in its time, for this account.'
      : 'This service sends no mail yet.',
    body: html`<form class="stack" method="post" action="${path}">${hidden('do', 'notices')}
${choicesField({
  name: 'notices',
  label: 'Send me a mail if',
  kind: 'box',
  chosen: ownerNoticeNames.filter((name) => !off.includes(name)),
  choices: ownerNoticeNames.map((value) => ({
    value,
    label: ownerNotices[value].title,
    help: `At most once in ${counted(ownerNotices[value].everyHours / 24, 'day')}.`,
  })),
})}
<div class="row">${submit({ label: 'Save' })}</div></form>`,
  })
}

function inviteCard({ email, role, errors }: Form): Html {
  return card({
    title: 'Invite',
    body: html`<form class="stack" method="post" action="${path}" novalidate>${formErrors('Nobody was invited.', errors)}${hidden('do', 'invite')}
${textField({ name: 'email', label: 'Email address', type: 'email', value: email, error: errors.email, lengthMax: 254, isRequired: true })}
${choicesField({
  name: 'role',
  label: 'Role',
  kind: 'radio',
  chosen: [role],
  choices: [
    { value: 'member', label: 'Member', help: 'Webhooks, sandbox, usage and reports.' },
    { value: 'owner', label: 'Owner', help: 'Also members and API keys.' },
  ],
})}
<div class="row">${submit({ label: 'Invite', kind: 'primary' })}</div></form>`,
  })
}
