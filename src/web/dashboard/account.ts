/** The form of the header that moves a session to another account of its user. */

import { updateSessionAccount } from '../../accounts/session-store.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import { uuidForm } from '../../platform/http/fields.ts'
import { accountSwitchPath } from '../layout.ts'
import { dashboardPage, type PagesContext } from '../page.ts'

export function accountPage(context: PagesContext): Endpoint[] {
  return dashboardPage(context, {
    name: 'accountPage',
    path: accountSwitchPath,
    entry: '',
    show: async () => ({ redirectTo: '/dashboard' }),
    actions: {
      async switch({ session: { sessionId, userId } }, { account: accountId = '' }) {
        const isMember =
          uuidForm.test(accountId) &&
          (await updateSessionAccount(context.db, { sessionId, userId, accountId }))
        return isMember
          ? { redirectTo: '/dashboard' }
          : refuse('not_found', { message: 'You are not a member of this account.' })
      },
    },
  })
}
