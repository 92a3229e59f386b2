/** The page of the members of the account. */
import { Type } from 'typebox'
import { parseEmail } from '../../accounts/email.ts'
import { inviteMember, membersMax, removeMember } from '../../accounts/members.ts'
import { findMembers, type Member } from '../../accounts/store.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import { uuidForm } from '../../platform/http/fields.ts'
import {
  badge,
  card,
  choicesField,
  confirmation,
  type FieldErrors,
  formErrors,
  hidden,
  notice,
  pageHead,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import { dashboardPage, type PagesContext, queryText, type View } from '../page.ts'
import { dateTag } from '../text.ts'

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
    session: { accountId: string; userId: string; role: string },
    { done, form = emptyForm }: { done?: string | undefined; form?: Form },
  ): Promise<View> => {
    const members = await findMembers(db, session.accountId)
    const isOwner = session.role === 'owner'
    const hasErrors = Object.keys(form.errors).length > 0
    return {
      title: hasErrors ? 'Error: team' : 'Team',
      ...(hasErrors ? { status: 400 } : {}),
      main: html`${resultNotice(done, { sendsMail, publicUrl })}
${pageHead({
  title: 'Team',
  text: 'Owners manage members, API keys and credits. Members do everything else.',
})}
<div class="columns main-side">
${card({
  title: 'Members',
  isFlush: true,
  body: memberTable(members, { ownId: session.userId, isOwner }),
})}
${isOwner && inviteCard(form)}
</div>`,
    }
  }
  return dashboardPage(options, {
    name: 'teamPage',
    path,
    entry: path,
    queryParameters: Type.Object({ done: queryText, remove: queryText }),
    async show({ session, query: { done, remove = '' } }) {
      const userId = remove.toLowerCase()
      if (session.role !== 'owner' || userId === session.userId || !uuidForm.test(userId))
        return view(session, { done })
      const members = await findMembers(db, session.accountId)
      const member = members.find((one) => one.userId === userId)
      return member === undefined ? view(session, { done }) : removalView(member)
    },
    actions: {
      async invite({ session, action }, { email: typed = '', role = '' }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const email = parseEmail(typed)
        const form = (text: string) =>
          view(session, { form: { email: typed.slice(0, 254), role, errors: { email: text } } })
        if (email === null)
          return form('This is not a mail address. Enter one such as ada@example.com.')
        const wanted = role === 'owner' ? 'owner' : 'member'
        const { accountId } = session
        const invitation = { accountId, email, role: wanted, isMailed: sendsMail } as const
        const { outcome } = await inviteMember(action, invitation)
        return outcome === 'too many members'
          ? form(`The account has ${membersMax} members, which is the maximum.`)
          : { redirectTo: `${path}?done=invited` }
      },
      async remove({ session, action }, { user: userId = '' }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const { accountId } = session
        const removed = uuidForm.test(userId)
          ? await removeMember(action, { accountId, userId })
          : 'no such member'
        if (removed === 'no such member')
          return refuse('not_found', { message: 'This account has no such member.' })
        return { redirectTo: `${path}?done=${removed === 'removed' ? 'removed' : 'last-owner'}` }
      },
    },
  })
}

function resultNotice(
  done: string | undefined,
  { sendsMail, publicUrl }: { sendsMail: boolean; publicUrl: string },
): Html | false {
  if (done === 'invited')
    return notice({
      tone: 'positive',
      title: 'The user may sign in to this account.',
      text: sendsMail
        ? 'A mail that leads to the sign-in page is on its way.'
        : html`This service sends no mail: tell the user to open ${publicUrl}/sign-in.`,
      isResult: true,
    })
  if (done === 'removed')
    return notice({
      tone: 'positive',
      title: 'The member is removed.',
      text: 'The sessions in this account have ended. API keys stay: revoke those that the member knows.',
      isResult: true,
    })
  return (
    done === 'last-owner' &&
    notice({
      tone: 'warning',
      title: 'Nothing was changed.',
      text: 'An account keeps at least one owner. Invite another owner first.',
      isResult: true,
    })
  )
}

function memberTable(
  members: readonly Member[],
  { ownId, isOwner }: { ownId: string; isOwner: boolean },
): Html {
  return table<Member>({
    label: 'Members',
    rows: members,
    columns: [
      {
        head: 'User',
        cell: ({ userId, email, name }) =>
          html`<strong class="break">${name ?? email}</strong>${userId === ownId && html` <span class="tag">You</span>`}${name !== null && html`<span class="sub break">${email}</span>`}`,
      },
      {
        head: 'Role',
        cell: ({ role, disabledAt }) =>
          disabledAt === null
            ? role === 'owner'
              ? badge('accent', 'key', 'Owner')
              : badge('neutral', 'people', 'Member')
            : badge('negative', 'lock', 'Disabled'),
      },
      { head: 'Joined', priority: 2, cell: ({ createdAt }) => dateTag(createdAt) },
      {
        head: 'Action',
        isHeadHidden: true,
        isNumber: true,
        cell: ({ userId, email }) =>
          isOwner &&
          userId !== ownId &&
          html`<a class="button danger small" href="${`${path}?remove=${userId}`}">Remove<span class="hidden-visually"> ${email}</span></a>`,
      },
    ],
  })
}

function removalView({ userId, email, name }: Member): View {
  return {
    title: 'Remove member',
    main: confirmation({
      title: `Remove ${name ?? email}?`,
      text: `${email} is signed out of this account at once, and cannot sign in to it again until an owner invites the address. API keys stay valid: revoke those that the member knows.`,
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
<div class="row">${submit({ label: 'Invite user', kind: 'primary' })}</div></form>`,
  })
}
