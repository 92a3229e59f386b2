/** The first page of the dashboard: how the account stands, and what to do next. */
import { isActive } from '../../accounts/access/manage.ts'
import type { Invitation } from '../../accounts/api.ts'
import {
  findEntries,
  findInvitationsTo,
  findShownKeys,
  type LogEntry,
  type StoredKey,
} from '../../accounts/api.ts'
import { accountsPath } from '../../accounts/sign-in.ts'
import { findCreditAccount, findUsage } from '../../billing/api.ts'
import { lastDays } from '../../billing/credits/months.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { type FailingNow, findActiveIds, findFailingNow } from '../../webhooks/api.ts'
import { legend } from '../chart.ts'
import { card, code, notice, tiles } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { accountTitle } from '../layout.ts'
import { dashboardPage, type PagesContext } from '../page.ts'
import { count, counted } from '../text.ts'
import { type CallContext, callTable } from './requests.ts'
import { usageChart, usageSeries } from './usage.ts'
import { answerWord, endpointPath, lengthSince, urlText } from './webhook-words.ts'

const path = '/dashboard'
const failingMax = 5
const usageDays = 7
const callsShown = 5
/** Ended keys whose calls are shown with their name. */
const endedNamed = 20

export function homePage(context: PagesContext): Endpoint[] {
  const { db, callsDb, publicUrl, routes, prices } = context
  return dashboardPage(context, {
    path,
    async show({ session: { accountId: userId, userId: ownId }, now }) {
      const period = lastDays(usageDays, now)
      const [keys, endpointIds, credits, failing, { day: usage }, { entries: calls }, invitations] =
        await Promise.all([
          findShownKeys(db, { accountId: userId, now, endedMax: endedNamed }),
          findActiveIds(db, userId),
          findCreditAccount(db, userId),
          findFailingNow(db, { owner: { userId }, limit: failingMax }),
          findUsage(db, { ...period, accountId: userId }),
          findEntries(callsDb, { accountId: userId, before: null, limit: callsShown }),
          findInvitationsTo(db, { userId: ownId, now }),
        ])
      const valid = keys.filter((key) => isActive(key, now))
      const used = valid.filter(({ lastUsedAt }) => lastUsedAt !== null)
      const today = usage.find(({ group }) => group === now.toISOString().slice(0, 10))
      const steps = firstSteps(publicUrl, {
        hasKey: valid.length > 0,
        hasCalled: used.length > 0 || calls.some(({ keyId }) => keyId !== null),
        hasEndpoint: endpointIds.length > 0,
      })
      return {
        title: 'Home',
        head: { text: html`Send your calls to <code>${publicUrl}</code>` },
        main: html`${invitations.map(invitationNotice)}
${failing.map((one) => failingNotice(one, now))}
${prices !== null && (credits?.balance ?? 0) === 0 && valid.some(({ environment }) => environment === 'live') && emptyNotice}
${tiles([
  {
    label: 'Credits',
    value: count(credits?.balance ?? 0),
    comparison: credits?.suspendedAt ? 'Suspended: the books are being checked' : 'Balance now',
  },
  {
    label: 'Charged calls today',
    value: count(today?.calls ?? 0),
    comparison: `${counted(today?.credits ?? 0, 'credit', 'credits')} since 00:00 UTC`,
  },
  {
    label: 'API keys',
    value: count(valid.length),
    comparison: valid.length === 0 ? 'None yet' : `${count(used.length)} used`,
  },
  {
    label: 'Webhook endpoints',
    value: count(endpointIds.length),
    comparison: endpointWord(endpointIds.length, failing.length),
  },
])}
${steps.some(({ isDone }) => !isDone) && stepsCard(steps)}
${
  usage.length > 0 &&
  card({
    title: `Charged calls, ${usageDays} days`,
    aside: legend(usageSeries),
    body: usageChart(usage, { since: period.since, days: usageDays }),
  })
}
${calls.length > 0 && callsCard(calls, keys, { routes, now })}
${verifyCard(publicUrl)}`,
      }
    },
  })
}

const emptyNotice = notice({
  tone: 'warning',
  title: '0 credits left: paid calls are refused.',
  text: html`They answer 402 <code>insufficient_credits</code>. <a href="/dashboard/usage">See the price of each call</a>`,
})

function invitationNotice({ account }: Invitation): Html {
  return notice({
    tone: 'info',
    title: html`You are invited to <bdi>${accountTitle(account)}</bdi>.`,
    text: html`<a href="${accountsPath}">Join or decline</a>`,
  })
}

function endpointWord(endpoints: number, failing: number): string {
  if (endpoints === 0) return 'None yet'
  return failing === 0 ? 'None is failing' : `${counted(failing, 'is', 'are')} failing`
}

function firstSteps(
  publicUrl: string,
  { hasKey, hasCalled, hasEndpoint }: Record<'hasKey' | 'hasCalled' | 'hasEndpoint', boolean>,
): Step[] {
  return [
    {
      title: 'Create an API key',
      isDone: hasKey,
      body: html`<p>A test key reads fictional candidates and costs nothing. A live key reads real ones and costs credits.</p><div class="row"><a class="button primary" href="/dashboard/keys/new">Create key</a><a class="button" href="/dashboard/sandbox">Try without a key</a></div>`,
    },
    {
      title: 'Make a call',
      isDone: hasCalled,
      body: code({
        id: 'first-call',
        label: 'Search with your test key',
        text: `curl '${publicUrl}/api/v1/candidates/search?q=typescript' \\\n  -H 'Authorization: Bearer svc_test_…'`,
      }),
    },
    {
      title: 'Receive events',
      isDone: hasEndpoint,
      body: html`<p>Your server gets an event when a score changes, when evidence is revoked, and when a consent ends.</p><div class="row"><a class="button${hasKey && ' primary'}" href="/dashboard/webhooks/new">Add endpoint</a></div>`,
    },
  ]
}

function stepsCard(steps: readonly Step[]): Html {
  const done = steps.filter(({ isDone }) => isDone).length
  return card({
    title: 'First steps',
    aside: html`<span class="muted small">${done} of ${steps.length} done</span>`,
    body: html`<ol class="checklist stack">${steps.map((step, i) => stepItem(step, i + 1))}</ol>`,
  })
}

function callsCard(
  calls: readonly LogEntry[],
  keys: readonly StoredKey[],
  context: Omit<CallContext, 'names'>,
): Html {
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  return card({
    title: 'Newest calls',
    aside: html`<a class="small" href="/dashboard/requests">All requests</a>`,
    isFlush: true,
    body: callTable(calls, { names, ...context }),
  })
}

function verifyCard(publicUrl: string): Html {
  return card({
    title: 'Verify a credential',
    text: 'Everyone can do it, without a key. The service checks issuer, signature and revocation.',
    body: html`${code({
      id: 'first-verification',
      label: 'Save a credential as credential.json, then send it',
      text: `curl '${publicUrl}/api/v1/score-vc/verify' \\\n  -H 'Content-Type: application/json' \\\n  --data-binary @credential.json`,
    })}<div class="row"><a class="button" href="/verify">Verify in the browser</a><a class="button quiet" href="/docs/verify-a-credential">Read how it works</a></div>`,
  })
}

interface Step {
  title: string
  isDone: boolean
  body: Part
}

function stepItem({ title, isDone, body }: Step, position: number): Html {
  return isDone
    ? html`<li data-done><span class="mark" data-tone="positive">${icon('check')}<span class="hidden-visually">Done: </span></span><h3>${title}</h3></li>`
    : html`<li><span class="mark" data-tone="neutral" aria-hidden="true">${position}</span><div class="stack tight"><h3>${title}</h3>${body}</div></li>`
}

function failingNotice(
  { id, url, failingSince, waiting, responseStatus, errorCode }: FailingNow,
  now: Date,
): Html {
  return notice({
    tone: 'warning',
    title: html`The webhook endpoint ${urlText(url)} is failing.`,
    text: html`It has failed for ${lengthSince(failingSince, now)}. Its last answer: ${answerWord({ responseStatus, errorCode })}. ${counted(waiting, 'delivery waits', 'deliveries wait')}. <a href="${endpointPath(id)}">See what failed</a>`,
  })
}
