/** The page of the user's own accounts: open another one, and answer invitations. */
import type { Invitation } from '../../accounts/api.ts'
import { findInvitationsTo, findSignedIn, updateSessionAccount } from '../../accounts/api.ts'
import { membersMax } from '../../accounts/invitations.ts'
import { membersAccept, membersDecline } from '../../accounts/member-operations.ts'
import { accountsPath } from '../../accounts/sign-in.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { uuidForm } from '../../edge/http/fields.ts'
import { refuse } from '../../platform/errors.ts'
import { actionForm, card, result } from '../components.ts'
import { type Html, html } from '../html.ts'
import { invitationSentence, roleSentence } from '../invitation-words.ts'
import { accountTitle } from '../layout.ts'
import { dashboardPage, type PagesContext, type View } from '../page.ts'
import { timeTag } from '../text.ts'

export function accountPage(context: PagesContext): Endpoint[] {
  const { db, publicUrl } = context
  const host = new URL(publicUrl).host
  const view = async (
    { userId, accountId }: { userId: string; accountId: string },
    now: Date,
    full = false,
  ): Promise<View> => {
    const [signedIn, invitations] = await Promise.all([
      findSignedIn(db, { userId, accountId, now }),
      findInvitationsTo(db, { userId, now }),
    ])
    const others = signedIn?.otherAccounts ?? []
    return {
      title: 'Your accounts',
      ...(full ? { status: 409 } : {}),
      head: { text: 'The next sign-in opens the account that you opened last.' },
      top: full && fullNotice,
      main: html`${invitations.map((one) => invitationCard(one, { host, now }))}
${card({
  title: 'Accounts',
  body: html`<ul class="stack tight">${accountLine(signedIn?.account ?? '', html`<span class="tag">Open now</span>`)}${others.map(({ id, name }) => accountLine(name, actionForm(accountsPath, 'switch', { label: html`Open<span class="hidden-visually"> ${accountTitle(name)}</span>`, isSmall: true, fields: { account: id } })))}</ul>`,
})}`,
    }
  }
  return dashboardPage(context, {
    path: accountsPath,
    entry: '',
    show: ({ session, now }) => view(session, now),
    actions: {
      async switch({ session: { sessionId, userId } }, { account: accountId = '' }) {
        const isMember =
          uuidForm.test(accountId) &&
          (await updateSessionAccount(db, { sessionId, userId, accountId }))
        return isMember
          ? { redirectTo: '/dashboard' }
          : refuse('not_found', { message: 'You are not a member of this account.' })
      },
      async join({ perform, session, now }, { invitation: invitationId = '' }) {
        const joined = await perform(membersAccept, { invitationId })
        if ('refusal' in joined)
          return joined.refusal === 'members_maximum' ? view(session, now, true) : noInvitation()
        const { sessionId, userId } = session
        await updateSessionAccount(db, { sessionId, userId, ...joined.output })
        return { redirectTo: '/dashboard' }
      },
      async decline({ perform }, { invitation: invitationId = '' }) {
        const declined = await perform(membersDecline, { invitationId })
        return 'refusal' in declined ? noInvitation() : { redirectTo: accountsPath }
      },
    },
  })
}

function noInvitation() {
  return refuse('not_found', { message: 'You have no such open invitation.' })
}

const fullNotice = result(
  'warning',
  `Nothing was changed. The account has ${membersMax} members, which is the maximum.`,
)

function accountLine(name: string, action: Html): Html {
  return html`<li class="row apart"><strong class="break" dir="auto">${accountTitle(name)}</strong>${action}</li>`
}

function invitationCard(invitation: Invitation, { host, now }: { host: string; now: Date }): Html {
  const { id, account, role, expiresAt } = invitation
  const button = (label: string, action: string, kind?: 'primary') =>
    actionForm(accountsPath, action, {
      label: html`${label}<span class="hidden-visually"> ${accountTitle(account)}</span>`,
      ...(kind === undefined ? {} : { kind }),
      fields: { invitation: id },
    })
  return card({
    id: `invitation-${id}`,
    title: `Invitation to ${accountTitle(account)}`,
    text: html`${invitationSentence(invitation, host)} ${roleSentence(role)} It ends ${timeTag(expiresAt, now)}.`,
    body: html`<div class="row">${button('Join account', 'join', 'primary')}${button('Decline', 'decline')}</div>`,
  })
}
