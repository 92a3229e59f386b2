/** The first page of the dashboard: the next step, and the state of the account. */
import { findShownKeys } from '../../access/store.ts'
import { findCreditAccount } from '../../credits/store.ts'
import { lastDays } from '../../credits/usage-period.ts'
import { findUsageBy } from '../../credits/usage-store.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { type FailingNow, findFailingNow } from '../../webhooks/delivery/endpoint-store.ts'
import { findActiveIds } from '../../webhooks/endpoints/store.ts'
import { card, code, notice, pageHead, tiles } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type PagesContext } from '../page.ts'
import { count, counted, timeTag } from '../text.ts'
import { endpointPath } from './webhook-words.ts'

const path = '/dashboard'
const failingMax = 5

export function homePage(context: PagesContext): Endpoint[] {
  const { db, publicUrl } = context
  return dashboardPage(context, {
    name: 'dashboardPage',
    path,
    entry: path,
    async show({ session: { accountId: userId }, now }) {
      const [keys, endpointIds, credits, failing, usage] = await Promise.all([
        findShownKeys(db, { accountId: userId, now, endedMax: 0 }),
        findActiveIds(db, userId),
        findCreditAccount(db, userId),
        findFailingNow(db, { owner: { userId }, limit: failingMax }),
        findUsageBy(db, { ...lastDays(1, now), accountId: userId, by: 'day' }),
      ])
      const [today] = usage
      const valid = keys.filter(
        ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > now),
      )
      const used = valid.filter(({ lastUsedAt }) => lastUsedAt !== null)
      const steps: Step[] = [
        {
          title: 'Create an API key',
          isDone: valid.length > 0,
          body: html`<p>A test key reads fictional candidates and costs nothing. A live key reads real ones and costs credits.</p><div class="row"><a class="button primary" href="/dashboard/keys/new">Create key</a><a class="button" href="/dashboard/sandbox">Try without a key</a></div>`,
        },
        {
          title: 'Make a call',
          isDone: used.length > 0,
          body: code({
            id: 'first-call',
            label: 'Search with a test key',
            text: `curl '${publicUrl}/api/v1/candidates/search?q=typescript' \\\n  -H 'Authorization: Bearer svc_test_…'`,
          }),
        },
        {
          title: 'Receive events',
          isDone: endpointIds.length > 0,
          body: html`<p>A webhook endpoint is told when a score changes, when evidence or a credential is revoked, and when a consent ends.</p><div class="row"><a class="button" href="/dashboard/webhooks/new">Add endpoint</a></div>`,
        },
        {
          title: 'Verify a credential',
          isDone: false,
          body: code({
            id: 'first-verification',
            label: 'Anyone can verify, without a key',
            text: `curl '${publicUrl}/api/v1/score-vc/verify' \\\n  -H 'Content-Type: application/json' \\\n  --data @credential.json`,
          }),
        },
      ]
      return {
        title: 'Home',
        main: html`${pageHead({ title: 'Home', text: `${new URL(publicUrl).host} for developers` })}
${failing.map((one) => failingNotice(one, now))}
${tiles([
  {
    label: 'Credits',
    value: count(credits?.balance ?? 0),
    comparison: credits?.suspendedAt ? 'Suspended: the books are being checked' : 'Balance now',
  },
  {
    label: 'Calls today',
    value: count(today?.calls ?? 0),
    comparison: `${counted(today?.credits ?? 0, 'credit', 'credits')} charged since 00:00 UTC`,
  },
  { label: 'API keys', value: count(valid.length), comparison: `${count(used.length)} used` },
  {
    label: 'Webhook endpoints',
    value: count(endpointIds.length),
    comparison:
      failing.length === 0 ? 'None is failing' : `${counted(failing.length, 'is', 'are')} failing`,
  },
])}
${card({ title: 'First steps', body: html`<ol class="checklist">${steps.map((step, i) => stepItem(step, i + 1))}</ol>` })}`,
      }
    },
  })
}

interface Step {
  title: string
  isDone: boolean
  body: Part
}

function stepItem({ title, isDone, body }: Step, position: number): Html {
  return isDone
    ? html`<li data-done><span class="mark positive">${icon('check')}<span class="hidden-visually">Done: </span></span><h3>${title}</h3></li>`
    : html`<li><span class="mark muted" aria-hidden="true">${position}</span><div class="stack tight"><h3>${title}</h3>${body}</div></li>`
}

function failingNotice(
  { id, failingSince, waiting, responseStatus, errorCode }: FailingNow,
  now: Date,
): Html {
  const answer = responseStatus === null ? (errorCode ?? 'no answer') : `status ${responseStatus}`
  return notice({
    tone: 'warning',
    title: 'A webhook endpoint is failing.',
    text: html`It has failed since ${timeTag(failingSince, now)}, last with ${answer}. ${counted(waiting, 'delivery waits', 'deliveries wait')}. <a href="${endpointPath(id)}">See what failed</a>`,
  })
}
