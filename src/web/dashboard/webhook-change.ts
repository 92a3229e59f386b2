/** The pages that confirm a change of a webhook endpoint which cannot be taken back at once. */
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { memberCaller } from '../../operations/callers.ts'
import { perform } from '../../operations/perform.ts'
import { refuse } from '../../platform/errors.ts'
import { type EndpointHealth, findEndpointHealth } from '../../webhooks/api.ts'
import { retrySpan } from '../../webhooks/delivery/retry.ts'
import type { WebhookPerformer } from '../../webhooks/endpoints/handlers.ts'
import { endpointIdPath } from '../../webhooks/endpoints/schema.ts'
import { webhooksDisable } from '../../webhooks/operations.ts'
import { webhooksReplaceSecret, webhooksRotateSecret } from '../../webhooks/secret-operations.ts'
import { confirmation, notice, secretOnce } from '../components.ts'
import { html, type Part } from '../html.ts'
import { dashboardPage, type PagesContext, type Shown, type View } from '../page.ts'
import { counted, timeTag } from '../text.ts'
import { verifySnippets } from './verify-snippets.ts'
import { noEndpoint } from './webhook.ts'
import { endpointPath, hostOf, webhooksPath } from './webhook-words.ts'

export interface WebhookChangeOptions extends PagesContext {
  performer: WebhookPerformer
  /** The waits between the attempts at a delivery. */
  retryWaitsSeconds: readonly number[]
}

const noRing = 'This service keeps no webhook secrets. Its operator sets SECRETS_KEYRING.'

const rotateProblems: Readonly<Record<string, string>> = {
  webhooks_not_configured: noRing,
  webhook_secret_rotating:
    'A rotation is under way: its secret is announced already, or the old one still signs beside it. If a secret has leaked, replace it.',
  webhook_endpoint_disabled: 'The endpoint is disabled. Enable it first.',
}

export function webhookChangePages(options: WebhookChangeOptions): Endpoint[] {
  return [...disablePage(options), ...rotatePage(options), ...replacePage(options)]
}

const common = { entry: webhooksPath, pathParameters: endpointIdPath } as const

function aboveEndpoint(id: string) {
  return [
    { title: 'Webhooks', url: webhooksPath },
    { title: 'Endpoint', url: endpointPath(id) },
  ]
}

function disablePage(options: WebhookChangeOptions): Endpoint[] {
  const path = `${webhooksPath}/{endpointId}/disable`
  const view = ({ id, url, waiting }: EndpointHealth, error?: string): View => ({
    title: 'Disable endpoint',
    ...(error === undefined ? {} : { status: 400 }),
    main: confirmation({
      title: 'Disable this endpoint?',
      text: `${counted(waiting, 'waiting delivery is', 'waiting deliveries are')} cancelled, and nothing more is sent to ${hostOf(url)}. You can enable it again for 30 days; then it is deleted.`,
      url: `${endpointPath(id)}/disable`,
      action: 'disable',
      button: 'Disable endpoint',
      cancel: { label: 'Keep endpoint', url: endpointPath(id) },
      above: aboveEndpoint(id),
      typed: { value: hostOf(url), error },
    }),
  })
  return dashboardPage(options, {
    ...common,
    name: 'disableWebhookPage',
    path,
    show: (visit) => withEndpoint(options, visit, (endpoint) => view(endpoint)),
    actions: {
      disable: (visit, { confirm }) =>
        withEndpoint(options, visit, async (endpoint) => {
          const expected = hostOf(endpoint.url)
          if (confirm !== expected)
            return view(endpoint, `Type ${expected} exactly as it is shown.`)
          const caller = memberCaller(visit.session, visit.requestId)
          const own = { endpointId: endpoint.id }
          const disabled = await perform(options.performer, webhooksDisable, caller, own)
          return 'refusal' in disabled
            ? refuse('not_found', { message: noEndpoint })
            : { redirectTo: `${webhooksPath}?done=disabled` }
        }),
    },
  })
}

function rotatePage(options: WebhookChangeOptions): Endpoint[] {
  const path = `${webhooksPath}/{endpointId}/rotate`
  const view = ({ id }: EndpointHealth, problem?: Part): View => ({
    title: 'Rotate secret',
    ...(problem === undefined ? {} : { status: 409 }),
    main: html`${problem !== undefined && notice({ tone: 'warning', title: 'Nothing was rotated.', text: problem, isResult: true })}${confirmation(
      {
        title: 'Rotate the signing secret?',
        text: 'You get a new secret. The old one keeps signing for 24 hours, or until you activate the new one; each delivery meanwhile carries a second signature with the new secret. Nothing is lost.',
        url: `${endpointPath(id)}/rotate`,
        action: 'rotate',
        button: 'Rotate secret',
        isDestructive: false,
        cancel: { label: 'Keep secret', url: endpointPath(id) },
        above: aboveEndpoint(id),
      },
    )}`,
  })
  return dashboardPage(options, {
    ...common,
    name: 'rotateWebhookSecretPage',
    path,
    show: (visit) => withEndpoint(options, visit, (endpoint) => view(endpoint)),
    actions: {
      rotate: (visit) =>
        withEndpoint(options, visit, async (endpoint) => {
          const { id } = endpoint
          const caller = memberCaller(visit.session, visit.requestId)
          const input = { endpointId: id, hours: 24 }
          const rotated = await perform(options.performer, webhooksRotateSecret, caller, input)
          if ('refusal' in rotated) {
            const text = rotateProblems[rotated.refusal]
            return text === undefined
              ? refuse('not_found', { message: noEndpoint })
              : view(endpoint, text)
          }
          const { signingSecret, signsFrom } = rotated.output
          return secretView({
            value: signingSecret,
            text: html`It signs ${timeTag(new Date(signsFrom), visit.now)}, or once you activate it. Until then the header <code>Service-Webhook-Signature-Next</code> carries its signature.`,
            done: endpointPath(id),
          })
        }),
    },
  })
}

function replacePage(options: WebhookChangeOptions): Endpoint[] {
  const path = `${webhooksPath}/{endpointId}/replace-secret`
  const view = ({ id, url, secretPrefix }: EndpointHealth, more: Partial<Problem> = {}): View => ({
    title: 'Replace secret',
    ...(more.status === undefined ? {} : { status: more.status }),
    main: html`${more.problem !== undefined && notice({ tone: 'warning', title: 'Nothing was replaced.', text: more.problem, isResult: true })}${confirmation(
      {
        title: 'Replace the signing secret now?',
        text: `The secret that begins with ${secretPrefix} signs nothing from now on. Until your server knows the new one, it rejects every delivery; rejected deliveries are sent again for ${retrySpan(options.retryWaitsSeconds)}.`,
        url: `${endpointPath(id)}/replace-secret`,
        action: 'replace',
        fields: { secretPrefix },
        button: 'Replace secret',
        cancel: { label: 'Keep secret', url: endpointPath(id) },
        above: aboveEndpoint(id),
        typed: { value: hostOf(url), error: more.error },
      },
    )}`,
  })
  return dashboardPage(options, {
    ...common,
    name: 'replaceWebhookSecretPage',
    path,
    show: (visit) => withEndpoint(options, visit, (endpoint) => view(endpoint)),
    actions: {
      replace: (visit, { confirm, secretPrefix = '' }) =>
        withEndpoint(options, visit, async (endpoint) => {
          const { id, url } = endpoint
          if (confirm !== hostOf(url))
            return view(endpoint, {
              status: 400,
              error: `Type ${hostOf(url)} exactly as it is shown.`,
            })
          const caller = memberCaller(visit.session, visit.requestId)
          const input = { endpointId: id, secretPrefix }
          const replaced = await perform(options.performer, webhooksReplaceSecret, caller, input)
          if ('refusal' in replaced && replaced.refusal === 'webhooks_not_configured')
            return view(endpoint, { status: 503, problem: noRing })
          if ('refusal' in replaced)
            return view(endpoint, {
              status: 409,
              problem:
                'The secret was replaced meanwhile, in another tab or by another member. Its new value was shown there.',
            })
          return secretView({
            value: replaced.output.signingSecret,
            text: 'It signs from now on. Every older secret of this endpoint signs nothing any more.',
            done: endpointPath(id),
          })
        }),
    },
  })
}

interface Problem {
  status: number
  problem: string
  error: string
}

function secretView({ value, text, done }: { value: string; text: Part; done: string }): View {
  return {
    title: 'Your new signing secret',
    main: secretOnce({
      title: 'Your new signing secret',
      label: 'Signing secret',
      value,
      text,
      more: verifySnippets,
      done,
    }),
  }
}

interface EndpointVisit {
  session: { accountId: string }
  path: { endpointId: string }
  now: Date
}

async function withEndpoint(
  { db }: PagesContext,
  { session, path: { endpointId }, now }: EndpointVisit,
  work: (endpoint: EndpointHealth) => Shown | Promise<Shown>,
): Promise<Shown> {
  const [endpoint] = await findEndpointHealth(db, { userId: session.accountId, endpointId }, now)
  return endpoint === undefined ? refuse('not_found', { message: noEndpoint }) : work(endpoint)
}
