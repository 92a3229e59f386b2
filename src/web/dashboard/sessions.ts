/** The page of the user's own sessions. */
import { deleteOwnSession, findOwnSessions, type OwnSession } from '../../accounts/api.ts'
import { sessionTimes } from '../../accounts/sessions.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { uuidForm } from '../../edge/http/fields.ts'
import { actionForm, badge, card, table } from '../components.ts'
import { html } from '../html.ts'
import { dashboardPage, type PagesContext } from '../page.ts'
import { dateTag, timeTag } from '../text.ts'

const path = '/dashboard/sessions'

export function sessionsPage(options: PagesContext): Endpoint[] {
  const { db, services } = options
  return dashboardPage(options, {
    path,
    results: { positive: { ended: 'The session has ended. That browser must sign in again.' } },
    async show({ session, now }) {
      const sessions = await findOwnSessions(
        db,
        session.userId,
        sessionTimes(services.users.sessions, now),
      )
      return {
        title: 'Sessions',
        head: {
          text: 'Every browser that is signed in as you. Sign out those that you do not know.',
        },
        main: card({
          title: 'Your sessions',
          text: 'A browser that is signed out needs a new sign-in link. API keys keep working.',
          aside: html`<form method="post" action="/sign-out"><input type="hidden" name="everywhere" value="yes"><button class="button danger small" type="submit">Sign out everywhere</button></form>`,
          isFlush: true,
          body: table<OwnSession>({
            label: 'Your sessions',
            rows: sessions,
            columns: [
              {
                head: 'Browser',
                cell: ({ id, browser, network, lastSeenAt }) =>
                  html`<strong>${browser}</strong>${id === session.sessionId && html` ${badge('accent', 'check', 'This browser')}`}<span class="sub narrow-only">${network} · ${timeTag(lastSeenAt, now)}</span>`,
              },
              {
                head: 'Network',
                priority: 2,
                cell: ({ network }) => html`<span class="mono">${network}</span>`,
              },
              {
                head: 'Last used',
                priority: 2,
                cell: ({ lastSeenAt }) => timeTag(lastSeenAt, now),
              },
              { head: 'Signed in', priority: 3, cell: ({ createdAt }) => dateTag(createdAt) },
              { head: 'Ends', priority: 3, cell: ({ endsAt }) => dateTag(endsAt) },
              {
                head: 'Action',
                isHeadHidden: true,
                isNumber: true,
                cell: ({ id, browser, lastSeenAt }) =>
                  id !== session.sessionId &&
                  actionForm(path, 'end', {
                    label: html`Sign out<span class="hidden-visually"> ${browser}, last used ${timeTag(lastSeenAt, now)}</span>`,
                    isSmall: true,
                    fields: { session: id },
                  }),
              },
            ],
          }),
        }),
      }
    },
    actions: {
      async end({ session }, { session: id = '' }) {
        if (uuidForm.test(id)) await deleteOwnSession(db, { id, userId: session.userId })
        return { redirectTo: `${path}?done=ended` }
      },
    },
  })
}
