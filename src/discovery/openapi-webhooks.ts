/**
 * Pure: the requests that the service sends, as the contract shows them (OpenAPI 3.1 `webhooks`).
 */
import type { TObject } from 'typebox'
import { refTo } from './openapi-parts.ts'

export interface WebhookDeclaration {
  /** The event type. */
  name: string
  operationId: string
  summary: string
  /** Schema of the whole body. */
  schema: TObject
  example: unknown
  headers: readonly WebhookHeader[]
}

interface WebhookHeader {
  name: string
  description: string
  schema: object
}

const description =
  'Sent by POST to every active endpoint that is subscribed to the type, signed. At least once: the same event has the same id at every attempt. Members come in the order of RFC 8785, but verify the bytes as received.'

export function webhooksOf(
  webhooks: readonly WebhookDeclaration[],
  publish: (schema: object) => unknown,
): Record<string, object> {
  const items = webhooks.map(({ name, operationId, summary, schema, example, headers }) => [
    name,
    {
      post: {
        operationId,
        tags: ['webhooks'],
        summary,
        description,
        security: [],
        parameters: headers.map((header) => refTo('parameters', componentName(header))),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: publish(schema), example } },
        },
        responses: {
          '2XX': { description: 'Received; the body of the answer is not used.' },
          default: { description: 'Not received, a redirect included: it is sent again later.' },
        },
      },
    },
  ])
  return Object.fromEntries(items)
}

/** Returns each header once, by name. */
export function webhookParameters(webhooks: readonly WebhookDeclaration[]): Record<string, object> {
  const parameters = webhooks
    .flatMap(({ headers }) => headers)
    .map((header) => [componentName(header), { in: 'header', required: true, ...header }])
  return Object.fromEntries(parameters)
}

function componentName({ name }: WebhookHeader): string {
  return name.replaceAll('-', '')
}
