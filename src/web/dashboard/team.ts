/** The page of the members of the account, and of the addresses that it has invited. */
import { Type } from 'typebox'
import { parseEmail } from '../../accounts/email.ts'
import { findOpenInvitations, type OpenInvitation } from '../../accounts/invitation-store.ts'
import {
  type Invited,
  invitationDays,
  invitationUrl,
  inviteMember,
  membersMax,
  resendInvitation,
  withdrawInvitation,
} from '../../accounts/invitations.ts'
import { makeOwner, removeMember } from '../../accounts/members.ts'
import { findMembers, type Member } from '../../accounts/store.ts'
import type { Role, SessionCaller } from '../../platform/http/callers.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import { uuidForm } from '../../platform/http/fields.ts'
import {
  actionForm,
  badge,
  card,
  choicesField,
  confirmation,
  copyable,
  type FieldErrors,
  formErrors,
  hidden,
  notice,
  pageHead,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { dashboardPage, type PagesContext, queryText, type View } from '../page.ts'
import { dateTag, timeTag, waitingTime } from '../text.ts'

const path = '/dashboard/team'

export interface TeamPageOptions extends PagesContext {
  sendsMail: boolean
}

interface Form {
  email: string
  role: string
  errors: FieldErrors
}

const emptyForm: Form = { email: '', role: 'member', errors: {} }

export function teamPage(options: TeamPageOptions): Endpoint[] {
  const { db, publicUrl, sendsMail } = options
  const view = async (
    session: SessionCaller,
    { now, result, form = emptyForm }: { now: Date; result?: Part; form?: Form },
  ): Promise<View> => {
    const { accountId, userId: ownId } = session
    const [members, invitations] = await Promise.all([
      findMembers(db, accountId),
      findOpenInvitations(db, { accountId, now }),
    ])
    const isOwner = session.role === 'owner'
    const hasErrors = Object.keys(form.errors).length > 0
    return {
      title: hasErrors ? 'Error: team' : 'Team',
      ...(hasErrors ? { status: 400 } : {}),
      main: html`${result}
${pageHead({
  title: 'Team',
  text: 'Owners manage members, API keys and credits. Members do everything else.',
})}
<div class="columns main-side">
${card({
  title: 'Members',
  isFlush: true,
  body: memberTable([...members, ...invitations], { ownId, isOwner, sendsMail, now }),
})}
${isOwner && inviteCard(form)}
</div>`,
    }
  }
  /** The link is in the answer to the POST itself, so a reload makes no other one. */
  const linkView = (session: SessionCaller, now: Date, token: string): Promise<View> =>
    view(session, { now, result: linkNotice(invitationUrl(publicUrl, token)) })

  return dashboardPage(options, {
    name: 'teamPage',
    path,
    entry: path,
    queryParameters: Type.Object({ done: queryText, remove: queryText }),
    async show({ session, now, query: { done = '', remove = '' } }) {
      const userId = remove.toLowerCase()
      const result = Object.hasOwn(results, done) && results[done]
      if (session.role !== 'owner' || userId === session.userId || !uuidForm.test(userId))
        return view(session, { now, result })
      const members = await findMembers(db, session.accountId)
      const member = members.find((one) => one.userId === userId)
      return member === undefined ? view(session, { now, result }) : removalView(member)
    },
    actions: {
      async invite({ session, action, now }, { email: typed = '', role = '' }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const email = parseEmail(typed)
        const form = (text: string, field: 'email' | 'form' = 'email') => {
          const errors = { [field]: text }
          return view(session, { now, form: { email: typed.slice(0, 254), role, errors } })
        }
        if (email === null)
          return form('This is not a mail address. Enter one such as ada@example.com.')
        const wanted: Role = role === 'owner' ? 'owner' : 'member'
        const { accountId, userId: invitedBy } = session
        const invitation = { accountId, email, role: wanted, invitedBy, isMailed: sendsMail }
        const invited = await inviteMember(action, invitation)
        if (invited.outcome !== 'invited') {
          const isOfAddress = invited.outcome.endsWith('already')
          return form(refusedInvitation(invited), isOfAddress ? 'email' : 'form')
        }
        return invited.token === null
          ? { redirectTo: `${path}?done=invited` }
          : linkView(session, now, invited.token)
      },
      async resend({ session, action, now }, { invitation: invitationId = '' }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const { accountId, userId: invitedBy } = session
        if (!uuidForm.test(invitationId)) return noInvitation()
        const own = { accountId, invitationId, invitedBy, isMailed: sendsMail }
        const sent = await resendInvitation(action, own)
        if (sent.outcome === 'no such invitation') return noInvitation()
        if (sent.outcome === 'limited')
          return view(session, { now, result: limitedNotice(sent.retryAfterSeconds) })
        return sent.token === null
          ? { redirectTo: `${path}?done=resent` }
          : linkView(session, now, sent.token)
      },
      async withdraw({ session, action }, { invitation: invitationId = '' }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const { accountId } = session
        const isWithdrawn =
          uuidForm.test(invitationId) &&
          (await withdrawInvitation(action, { accountId, invitationId }))
        return isWithdrawn ? { redirectTo: `${path}?done=withdrawn` } : noInvitation()
      },
      async promote({ session, action }, { user: userId = '' }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const { accountId } = session
        const isOwner = uuidForm.test(userId) && (await makeOwner(action, { accountId, userId }))
        return isOwner ? { redirectTo: `${path}?done=promoted` } : noMember()
      },
      async remove({ session, action }, { user: userId = '' }) {
        if (session.role !== 'owner') return refuse('owner_required')
        if (userId === session.userId) return { redirectTo: '/dashboard/leave' }
        const { accountId } = session
        const removed = uuidForm.test(userId)
          ? await removeMember(action, { accountId, userId })
          : 'no such member'
        if (removed === 'no such member') return noMember()
        return { redirectTo: `${path}?done=${removed === 'ended' ? 'removed' : 'last-owner'}` }
      },
    },
  })
}

const noMember = () => refuse('not_found', { message: 'This account has no such member.' })
const noInvitation = () =>
  refuse('not_found', { message: 'This account has no such open invitation.' })

function positive(title: string, text: Part): Html {
  return notice({ tone: 'positive', title, text, isResult: true })
}

const results: Readonly<Record<string, Html>> = {
  invited: positive(
    'The invitation is on its way.',
    `The mail holds a link to join. It works for ${invitationDays} days.`,
  ),
  resent: positive(
    'The invitation is on its way again.',
    'The link in the new mail works as well.',
  ),
  withdrawn: positive('The invitation is withdrawn.', 'Its link does not work any more.'),
  promoted: positive('The member is an owner now.', 'Owners manage members, API keys and credits.'),
  removed: positive(
    'The member is removed.',
    'The sessions in this account have ended. API keys stay: revoke those that the member knows.',
  ),
  'last-owner': notice({
    tone: 'warning',
    title: 'Nothing was changed.',
    text: 'An account keeps at least one owner. Make another member an owner first.',
    isResult: true,
  }),
}

function limitedNotice(seconds: number): Html {
  return notice({
    tone: 'warning',
    title: 'No mail was sent.',
    text: `${limitedText} Try again in ${waitingTime(seconds)}.`,
    isResult: true,
  })
}

/** One text for all limits: it must not tell which one an address has reached. */
const limitedText =
  'An invitation is mailed once a day, and the mails of an account and to an address are limited.'

function refusedInvitation(refused: Exclude<Invited, { outcome: 'invited' }>): string {
  if (refused.outcome === 'invited already')
    return 'This address is invited already. The list has its invitation.'
  if (refused.outcome === 'member already') return 'This address is a member already.'
  return refused.outcome === 'limited'
    ? `${limitedText} Try again in ${waitingTime(refused.retryAfterSeconds)}.`
    : `The account has ${membersMax} members and open invitations, which is the maximum.`
}

function linkNotice(url: string): Html {
  const told = notice({
    tone: 'info',
    title: 'This service sends no mail: hand this link over.',
    text: `Its holder can join, for ${invitationDays} days. It is shown once; a new link replaces it.`,
    isResult: true,
  })
  return html`${told}${copyable('invitation-link', 'Link to join', url)}`
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
    const fields = { invitation: row.id }
    return (
      isOwner &&
      html`<div class="row">${actionForm(path, 'resend', {
        label: html`${sendsMail ? 'Resend' : 'New link'}${of}`,
        isSmall: true,
        fields,
      })}${actionForm(path, 'withdraw', { label: html`Withdraw${of}`, isSmall: true, fields })}</div>`
    )
  }
  const { userId, role } = row
  if (userId === ownId) return html`<a class="button small" href="/dashboard/leave">Leave</a>`
  return (
    isOwner &&
    html`<div class="row">${
      role === 'member' &&
      actionForm(path, 'promote', {
        label: html`Make owner${of}`,
        isSmall: true,
        fields: { user: userId },
      })
    }<a class="button danger small" href="${`${path}?remove=${userId}`}">Remove${of}</a></div>`
  )
}

function removalView({ userId, email, name }: Member): View {
  return {
    title: 'Remove member',
    main: confirmation({
      title: html`Remove <bdi>${name ?? email}</bdi>?`,
      text: `${email} is signed out of this account at once, and cannot sign in to it again until the address accepts a new invitation. API keys stay valid: revoke those that the member knows.`,
      url: path,
      action: 'remove',
      fields: { user: userId },
      button: 'Remove member',
      cancel: { label: 'Keep member', url: path },
      above: [{ title: 'Team', url: path }],
    }),
  }
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
<div class="row">${submit({ label: 'Send invitation', kind: 'primary' })}</div></form>`,
  })
}
