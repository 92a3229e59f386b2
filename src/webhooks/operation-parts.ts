/** What the operations on webhooks share: their services, the endpoint's id, and its entries. */
import { Type } from 'typebox'
import { type AccountServices, accountField, idField } from '../operations/fields.ts'
import { type Context, operationsFor } from '../operations/operation.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { NameCheck } from '../platform/egress/names.ts'
import type { EgressRules } from '../platform/egress/rules.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import type { EndpointOf } from './delivery/endpoint-store.ts'

export interface WebhookServices extends AccountServices {
  webhooks: {
    /** The URLs that may receive events. */
    rules: EgressRules
    /** Maximum of active endpoints of one account. */
    activeMax: number
    /** Asks the DNS for a host. Null: a proxy does that. */
    checkName: ((host: string) => Promise<NameCheck>) | null
    /** The keyring that encrypts signing secrets, or null. */
    ring(): Promise<Keyring | null>
    /** Called if a repeated creation shows a signing secret again. */
    onSecretShown(endpointId: string): void
  }
}

export const { read, change } = operationsFor<WebhookServices>()

export const endpointId = idField('a webhook endpoint', 'webhooks endpoints')
export const exampleId = '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f'

export const ofAccount = Type.Optional({
  ...accountField,
  'x-help': 'only those of this account',
})

/** The status and the error of an answer, as a cell of a table. */
export function answerText(row: {
  responseStatus: number | null
  errorCode: string | null
}): string {
  return [row.responseStatus, row.errorCode].filter((part) => part !== null).join(' ')
}

export const endpointChange = closedObject({ endpointId: Type.String(), changed: Type.Boolean() })

export const signingSecret = Type.String({
  description: 'Shown once.',
  'x-secret': true,
})

/** Returns the endpoint on behalf of the caller. */
export function endpointOf(id: string, { owner }: Pick<Context<unknown>, 'owner'>): EndpointOf {
  return { endpointId: id, owner }
}

/** Returns the subject and the account of an audit entry. */
export function entryOf({ id, userId }: { id: string; userId: string }) {
  return { subjects: [id], account: userId }
}

export function changeLine(effect: string) {
  return ({ endpointId: id, changed }: { endpointId: string; changed: boolean }) => [
    changed ? `${id} ${effect}.` : `${id} was so before.`,
  ]
}

export async function openRing({
  webhooks,
}: WebhookServices): Promise<Keyring | Refusal<'webhooks_not_configured'>> {
  return (await webhooks.ring()) ?? refuse('webhooks_not_configured')
}
