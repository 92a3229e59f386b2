/** Every page of the dashboard. */
import type { Endpoint } from '../../edge/http/endpoint.ts'
import type { PagesContext } from '../page.ts'
import { accountPage } from './account.ts'
import { auditPage } from './audit.ts'
import { decisionsPages } from './decisions.ts'
import { homePage } from './home.ts'
import { keyPage, keysPage, newKeyPage } from './keys.ts'
import { leavePage } from './leave.ts'
import { requestsPages } from './requests.ts'
import { sandboxPage } from './sandbox.ts'
import { sessionsPage } from './sessions.ts'
import { teamPage } from './team.ts'
import { usagePage } from './usage.ts'
import { webhookPage } from './webhook.ts'
import { webhookChangePages } from './webhook-change.ts'
import { webhookEventPage } from './webhook-event.ts'
import { newWebhookPage, webhooksPage } from './webhooks.ts'

export function dashboardPages(context: PagesContext): Endpoint[] {
  return [
    homePage,
    accountPage,
    usagePage,
    requestsPages,
    keysPage,
    newKeyPage,
    keyPage,
    webhooksPage,
    newWebhookPage,
    webhookPage,
    webhookChangePages,
    webhookEventPage,
    sandboxPage,
    decisionsPages,
    teamPage,
    leavePage,
    auditPage,
    sessionsPage,
  ].flatMap((pages) => pages(context))
}
