/** The pages that confirm a change of a webhook endpoint which cannot be taken back at once. */
import type { Endpoint } from '../../edge/http/endpoint.ts'
import type { EndpointHealth } from '../../webhooks/api.ts'
import { retrySpan } from '../../webhooks/delivery/retry.ts'
import { endpointIdPath } from '../../webhooks/endpoints/schema.ts'
import { webhooksDisable } from '../../webhooks/operations.ts'
import { webhooksReplaceSecret, webhooksRotateSecret } from '../../webhooks/secret-operations.ts'
import { type Confirmation, confirmation, result, secretOnce } from '../components.ts'
import { html, type Part } from '../html.ts'
import {
  dashboardPage,
  type Fields,
  type PagesContext,
  type Shown,
  type View,
  type Visit,
} from '../page.ts'
import { counted, timeTag } from '../text.ts'
import { verifySnippets } from './verify-snippets.ts'
import { noEndpoint, withEndpoint } from './webhook.ts'
import { aboveEndpoint, endpointPath, hostOf, webhooksPath } from './webhook-words.ts'

const noRing = 'This service keeps no webhook secrets. Its operator sets SECRETS_KEYRING.'

const rotateProblems: Readonly<Record<string, string>> = {
  webhooks_not_configured: noRing,
  webhook_secret_rotating:
    'A rotation is under way: its secret is announced already, or the old one still signs beside it. If a secret has leaked, replace it.',
  webhook_endpoint_disabled: 'The endpoint is disabled. Enable it first.',
}

export function webhookChangePages(options: PagesContext): Endpoint[] {
  return [
    ...changePage(options, {
      end: 'disable',
      button: 'Disable endpoint',
      keep: 'Keep endpoint',
      textsOf: ({ url, waiting }) => ({
        title: 'Disable this endpoint?',
        text: `${counted(waiting, 'waiting delivery is', 'waiting deliveries are')} cancelled, and nothing more is sent to ${hostOf(url)}. You can enable it again for 30 days; then it is deleted.`,
      }),
      async run({ perform }, { id: endpointId }) {
        const disabled = await perform(webhooksDisable, { endpointId })
        return 'refusal' in disabled ? noEndpoint : { redirectTo: `${webhooksPath}?done=disabled` }
      },
    }),
    ...changePage(options, {
      end: 'rotate',
      button: 'Rotate secret',
      keep: 'Keep secret',
      problemTitle: 'Nothing was rotated.',
      textsOf: () => ({
        title: 'Rotate the signing secret?',
        text: 'You get a new secret. The old one keeps signing for 24 hours, or until you activate the new one; each delivery meanwhile carries a second signature with the new secret. Nothing is lost.',
        isDestructive: false,
      }),
      async run({ perform, now }, { id: endpointId }) {
        const input = { endpointId, hours: 24 }
        const rotated = await perform(webhooksRotateSecret, input)
        if ('refusal' in rotated) {
          const problem = rotateProblems[rotated.refusal]
          return problem === undefined ? noEndpoint : { status: 409, problem }
        }
        const { signingSecret, signsFrom } = rotated.output
        return secretView({
          value: signingSecret,
          text: html`It signs ${timeTag(new Date(signsFrom), now)}, or once you activate it. Until then the header <code>Service-Webhook-Signature-Next</code> carries its signature.`,
          done: endpointPath(endpointId),
        })
      },
    }),
    ...changePage(options, {
      end: 'replace-secret',
      action: 'replace',
      button: 'Replace secret',
      keep: 'Keep secret',
      problemTitle: 'Nothing was replaced.',
      textsOf: ({ secretPrefix }) => ({
        title: 'Replace the signing secret now?',
        text: `The secret that begins with ${secretPrefix} signs nothing from now on. Until your server knows the new one, it rejects every delivery; rejected deliveries are sent again for ${retrySpan(options.retryWaitsSeconds)}.`,
        fields: { secretPrefix },
      }),
      async run({ perform }, { id: endpointId }, { secretPrefix = '' }) {
        const input = { endpointId, secretPrefix }
        const replaced = await perform(webhooksReplaceSecret, input)
        if ('refusal' in replaced)
          return replaced.refusal === 'webhooks_not_configured'
            ? { status: 503, problem: noRing }
            : {
                status: 409,
                problem:
                  'The secret was replaced meanwhile, in another tab or by another member. Its new value was shown there.',
              }
        return secretView({
          value: replaced.output.signingSecret,
          text: 'It signs from now on. Every older secret of this endpoint signs nothing any more.',
          done: endpointPath(endpointId),
        })
      },
    }),
  ]
}

interface Problem {
  status: number
  problem?: string
  /** The error of the text to type. */
  error?: string
}

interface Change {
  /** The end of its path. */
  end: string
  /** The action of its form: the end of its path unless given. */
  action?: string
  button: string
  keep: string
  problemTitle?: string
  textsOf(
    endpoint: EndpointHealth,
  ): Pick<Confirmation, 'title' | 'text' | 'fields' | 'isDestructive'>
  run(
    visit: Visit<{ endpointId: string }, object>,
    endpoint: EndpointHealth,
    fields: Fields,
  ): Promise<Shown | Problem>
}

/** Confirms a change. The host is typed to confirm a destructive one. */
function changePage(context: PagesContext, change: Change): Endpoint[] {
  const { end, action = end, button, keep, problemTitle, textsOf, run } = change
  const view = (
    endpoint: EndpointHealth,
    { status, problem, error }: Partial<Problem> = {},
  ): View => {
    const { id, url } = endpoint
    const texts = textsOf(endpoint)
    return {
      title: button,
      ...(status === undefined ? {} : { status }),
      top: problem !== undefined && result('warning', problemTitle ?? '', problem),
      main: confirmation({
        ...texts,
        url: `${endpointPath(id)}/${end}`,
        action,
        button,
        cancel: { label: keep, url: endpointPath(id) },
        above: aboveEndpoint(id),
        ...(texts.isDestructive === false ? {} : { typed: { value: hostOf(url), error } }),
      }),
    }
  }
  return dashboardPage(context, {
    path: `${webhooksPath}/{endpointId}/${end}`,
    entry: webhooksPath,
    pathParameters: endpointIdPath,
    show: (visit) => withEndpoint(context, visit, (endpoint) => view(endpoint)),
    actions: {
      [action]: (visit, fields) =>
        withEndpoint(context, visit, async (endpoint) => {
          const expected = hostOf(endpoint.url)
          if (textsOf(endpoint).isDestructive !== false && fields.confirm !== expected)
            return view(endpoint, {
              status: 400,
              error: `Type ${expected} exactly as it is shown.`,
            })
          const done = await run(visit, endpoint, fields)
          return 'status' in done && !('main' in done) ? view(endpoint, done) : done
        }),
    },
  })
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
