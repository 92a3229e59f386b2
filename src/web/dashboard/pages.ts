/** Every page of the dashboard. */
import type { SessionRules } from '../../accounts/sessions.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { EgressRules } from '../../platform/egress/rules.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import type { PagesContext } from '../page.ts'
import { homePage } from './home.ts'
import { newWebhookPage } from './new-webhook.ts'
import { sessionsPage } from './sessions.ts'
import { webhookPage } from './webhook.ts'
import { webhookChangePages } from './webhook-change.ts'
import { webhookEventPage } from './webhook-event.ts'
import { webhooksPage } from './webhooks.ts'

export interface DashboardOptions extends PagesContext {
  sessionRules: SessionRules
  webhooks: { ring: Keyring | null; rules: EgressRules; activeMax: number }
}

export function dashboardPages({
  sessionRules,
  webhooks,
  ...context
}: DashboardOptions): Endpoint[] {
  return [
    ...homePage(context),
    ...webhooksPage(context),
    ...newWebhookPage({ ...context, ...webhooks }),
    ...webhookPage({ ...context, ...webhooks }),
    ...webhookChangePages({ ...context, ...webhooks }),
    ...webhookEventPage(context),
    ...sessionsPage({ ...context, rules: sessionRules }),
  ]
}
