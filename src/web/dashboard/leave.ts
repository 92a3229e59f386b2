/** The page on which a user leaves the account. */
import { isActive } from '../../accounts/access/manage.ts'
import { countSessionsIn, findMembers, findShownKeys, findSignedIn } from '../../accounts/api.ts'
import { membersLeave } from '../../accounts/member-operations.ts'
import { sessionTimes } from '../../accounts/sessions.ts'
import { findKeysMadeBy } from '../../audit/api.ts'
import type { SessionCaller } from '../../edge/http/callers.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { refuse } from '../../platform/errors.ts'
import { confirmation, notice } from '../components.ts'
import { html } from '../html.ts'
import { accountTitle } from '../layout.ts'
import { dashboardPage, type PagesContext, type View } from '../page.ts'
import { counted } from '../text.ts'

const path = '/dashboard/leave'
const above = [{ title: 'Team', url: '/dashboard/team' }]

export function leavePage(context: PagesContext): Endpoint[] {
  const { db } = context
  const { sessions: rules } = context.services.users
  const view = async (session: SessionCaller, now: Date, error?: string): Promise<View> => {
    const { accountId, userId, role } = session
    const members = await findMembers(db, accountId)
    const isLastOwner =
      role === 'owner' && members.filter((one) => one.role === 'owner').length === 1
    if (isLastOwner) return lastOwnerView(members.length)
    const [account, made, valid, sessions] = await Promise.all([
      titleOf(session, now),
      findKeysMadeBy(db, { accountId, actor: `user ${userId}` }),
      findShownKeys(db, { accountId, now, endedMax: 0 }),
      countSessionsIn(db, { userId, accountId }, sessionTimes(rules, now)),
    ])
    const keys = valid.filter((key) => isActive(key, now) && made.includes(key.id)).length
    const ofKeys =
      keys === 0
        ? 'You created no API key that is valid.'
        : `${counted(keys, 'API key that you created keeps', 'API keys that you created keep')} working: revoke first what you know.`
    return {
      title: error === undefined ? 'Leave account' : 'Error: leave account',
      ...(error === undefined ? {} : { status: 400 }),
      main: confirmation({
        title: html`Leave <bdi>${account}</bdi>?`,
        text: `${ofKeys} ${counted(sessions, 'session ends', 'sessions end')} at once. To come back you need a new invitation.`,
        url: path,
        action: 'leave',
        button: 'Leave account',
        cancel: { label: 'Stay', url: '/dashboard/team' },
        above,
        typed: { value: account, error },
      }),
    }
  }
  const titleOf = async ({ userId, accountId }: SessionCaller, now: Date): Promise<string> =>
    accountTitle((await findSignedIn(db, { userId, accountId, now }))?.account ?? '')

  return dashboardPage(context, {
    path,
    entry: '/dashboard/team',
    show: ({ session, now }) => view(session, now),
    actions: {
      async leave({ perform, session, now }, { confirm = '' }) {
        const account = await titleOf(session, now)
        if (confirm.trim() !== account) return view(session, now, `Type ${account} to leave.`)
        const left = await perform(membersLeave, {})
        if (!('refusal' in left)) return { redirectTo: '/sign-in?left=yes' }
        return left.refusal === 'last_owner'
          ? view(session, now)
          : refuse('not_found', { message: 'You are not a member of this account.' })
      },
    },
  })
}

function lastOwnerView(members: number): View {
  return {
    title: 'Leave account',
    head: { above },
    main: notice({
      tone: 'warning',
      title: 'You are the only owner.',
      text: html`An account keeps at least one owner. ${
        members > 1
          ? html`<a href="/dashboard/team">Make another member an owner</a> first`
          : html`<a href="/dashboard/team">Invite another owner</a> first`
      }, or <a href="/dashboard/keys">revoke the API keys</a> and ask the operator of this service to close the account.`,
    }),
  }
}
