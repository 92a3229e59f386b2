/** Every page of the dashboard. */
import type { SessionRules } from '../../accounts/sessions.ts'
import type { UserServices } from '../../accounts/user-operations.ts'
import type { Prices } from '../../billing/credits/meters.ts'
import type { Verify } from '../../credentials/verifier.ts'
import type { Sandbox } from '../../demo/sandbox/open.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import type { Performer } from '../../operations/perform.ts'
import type { ReportServices } from '../../reports/operations.ts'
import type { WebhookServices } from '../../webhooks/operation-parts.ts'
import type { PagesContext } from '../page.ts'
import { accountPage } from './account.ts'
import { auditPage } from './audit.ts'
import { decisionsPages } from './decisions.ts'
import { homePage } from './home.ts'
import { keyPage } from './key.ts'
import { keysPage } from './keys.ts'
import { leavePage } from './leave.ts'
import { newKeyPage } from './new-key.ts'
import { newWebhookPage } from './new-webhook.ts'
import { type RequestsOptions, requestsPages } from './requests.ts'
import { sandboxPage } from './sandbox.ts'
import { sessionsPage } from './sessions.ts'
import { teamPage } from './team.ts'
import { usagePage } from './usage.ts'
import { webhookPage } from './webhook.ts'
import { webhookChangePages } from './webhook-change.ts'
import { webhookEventPage } from './webhook-event.ts'
import { webhooksPage } from './webhooks.ts'

export interface DashboardOptions extends PagesContext {
  sessionRules: SessionRules
  sandbox: Sandbox
  verify: Verify
  requestLog: Pick<RequestsOptions, 'callsDb' | 'requestLogDays' | 'validSessions' | 'routes'>
  /** Credits for a call of each meter. Null: calls are not metered. */
  prices: Prices | null
  performer: Performer<UserServices & WebhookServices & ReportServices>
  /** The waits between the attempts at a delivery. */
  retryWaitsSeconds: readonly number[]
}

export function dashboardPages({
  sessionRules,
  performer,
  retryWaitsSeconds,
  sandbox,
  verify,
  requestLog,
  prices,
  ...context
}: DashboardOptions): Endpoint[] {
  const { callsDb, routes, requestLogDays } = requestLog
  return [
    ...homePage({ ...context, callsDb, routes, isMetered: prices !== null }),
    ...accountPage({ ...context, performer }),
    ...usagePage({ ...context, callsDb, requestLogDays, prices }),
    ...requestsPages({ ...context, ...requestLog }),
    ...keysPage(context),
    ...newKeyPage({ ...context, performer }),
    ...keyPage({ ...context, performer }),
    ...webhooksPage({ ...context, retryWaitsSeconds }),
    ...newWebhookPage({ ...context, performer }),
    ...webhookPage({ ...context, performer }),
    ...webhookChangePages({ ...context, performer, retryWaitsSeconds }),
    ...webhookEventPage({ ...context, performer }),
    ...sandboxPage({ ...context, sandbox, verify }),
    ...decisionsPages({ ...context, performer }),
    ...teamPage({ ...context, performer }),
    ...leavePage({ ...context, performer }),
    ...auditPage(context),
    ...sessionsPage({ ...context, rules: sessionRules }),
  ]
}
