/** The handlers by which a signed-in user manages webhook endpoints of an account. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { actorOf } from '../../audit/account-entry.ts'
import type { ActionContext } from '../../audit/action.ts'
import { type Clock, wireTime } from '../../platform/clock.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Db } from '../../platform/db/db.ts'
import type { SessionCaller } from '../../platform/http/callers.ts'
import type { Answer, Handlers } from '../../platform/http/endpoint.ts'
import { type Refusal, refuse } from '../../platform/http/errors.ts'
import { schemaVersion } from '../../platform/http/identifiers.ts'
import { parseBody } from '../../platform/json/shape-fault.ts'
import {
  findAttemptsBy,
  findEndpointHealth,
  findEventOfAttempt,
  findSentEvent,
} from '../delivery/history-store.ts'
import {
  activateAnnouncedSecret,
  announceSecret,
  replaceLeakedSecret,
  sendAgain,
  setDeliveriesPaused,
} from '../endpoints/actions.ts'
import { disableOwnEndpoint, wireDelivery } from '../endpoints/handlers.ts'
import type { accountWebhookContract } from './contract.ts'
import { emptyRequest, type endpointState, type newSecret, replacementRequest } from './schema.ts'

export interface AccountWebhookOptions {
  db: Db
  clock: Clock
  /** Encrypts signing secrets. If null, no secret can be made. */
  ring: Keyring | null
}

const attemptsShown = 50
const emptyShape = Compile(emptyRequest)
const replacementShape = Compile(replacementRequest)

type AccountHandlers = Handlers<typeof accountWebhookContract>

export function accountWebhookHandlers(options: AccountWebhookOptions): AccountHandlers {
  return { ...stateHandlers(options), ...secretHandlers(options), ...deliveryHandlers(options) }
}

type StateHandlers = Pick<
  AccountHandlers,
  'disableAccountWebhookEndpoint' | 'pauseWebhookEndpoint' | 'resumeWebhookEndpoint'
>

function stateHandlers(options: AccountWebhookOptions): StateHandlers {
  const setPaused = async (
    { caller, path: { endpointId: id }, body }: PauseRequest,
    isPaused: boolean,
  ) => {
    const fault = faultOf(body)
    if (fault !== null) return fault
    const context = contextOf(options, caller)
    const { outcome } = await setDeliveriesPaused(context, own(caller, id), isPaused)
    if (outcome === 'no such endpoint') return refuse('webhook_endpoint_not_found')
    if (outcome === 'disabled') return refuse('webhook_endpoint_disabled')
    return stateAnswer(options, caller, id)
  }
  return {
    disableAccountWebhookEndpoint: ({ caller, path: { endpointId } }) =>
      disableOwnEndpoint(options, caller, endpointId),
    pauseWebhookEndpoint: (request) => setPaused(request, true),
    resumeWebhookEndpoint: (request) => setPaused(request, false),
  }
}

type SecretHandlers = Pick<
  AccountHandlers,
  'rotateWebhookSecret' | 'activateWebhookSecret' | 'replaceWebhookSecretNow'
>

function secretHandlers(options: AccountWebhookOptions): SecretHandlers {
  const { clock, ring } = options
  return {
    async rotateWebhookSecret({ caller, path: { endpointId }, body }) {
      const fault = faultOf(body)
      if (fault !== null) return fault
      if (ring === null) return refuse('webhooks_not_configured')
      const rotated = await announceSecret(contextOf(options, caller), own(caller, endpointId), {
        ring,
      })
      if (rotated.outcome === 'rotated') return secretAnswer(endpointId, rotated)
      if (rotated.outcome === 'no such endpoint') return refuse('webhook_endpoint_not_found')
      return rotated.outcome === 'disabled'
        ? refuse('webhook_endpoint_disabled')
        : refuse('webhook_secret_rotating')
    },

    async activateWebhookSecret({ caller, path: { endpointId }, body }) {
      const fault = faultOf(body)
      if (fault !== null) return fault
      const of = own(caller, endpointId)
      const { outcome } = await activateAnnouncedSecret(contextOf(options, caller), of)
      if (outcome === 'no such endpoint') return refuse('webhook_endpoint_not_found')
      if (outcome === 'none announced') return refuse('webhook_secret_not_announced')
      return stateAnswer(options, caller, endpointId)
    },

    async replaceWebhookSecretNow({ caller, path: { endpointId }, body }) {
      if (ring === null) return refuse('webhooks_not_configured')
      const read = parseBody(replacementShape, body)
      if ('fault' in read) return refuse('invalid_field', { message: read.fault })
      const of = { ...own(caller, endpointId), ...read.body, ring }
      const replaced = await replaceLeakedSecret(contextOf(options, caller), of)
      if (replaced.outcome === 'no such endpoint') return refuse('webhook_endpoint_not_found')
      if (replaced.outcome !== 'replaced') return refuse('webhook_secret_changed')
      return secretAnswer(endpointId, { secret: replaced.secret, signsFrom: clock() })
    },
  }
}

type DeliveryHandlers = Pick<AccountHandlers, 'resendWebhookDelivery' | 'getWebhookSentEvent'>

function deliveryHandlers(options: AccountWebhookOptions): DeliveryHandlers {
  const { db, clock } = options
  return {
    async resendWebhookDelivery({ caller, path: { endpointId, deliveryId }, body }) {
      const fault = faultOf(body)
      if (fault !== null) return fault
      const userId = caller.accountId
      const eventId = await findEventOfAttempt(db, { endpointId, userId, attemptId: deliveryId })
      if (eventId === undefined || eventId.startsWith('evt_test_'))
        return refuse('webhook_delivery_not_found')
      const at = clock()
      const context = { ...contextOf(options, caller), clock: () => at }
      const { outcome } = await sendAgain(context, { ...own(caller, endpointId), eventId })
      if (outcome === 'disabled') return refuse('webhook_endpoint_disabled')
      if (outcome !== 'queued') return refuse('webhook_delivery_not_found')
      const version = schemaVersion('webhook_resend')
      return {
        status: 202,
        body: { schemaVersion: version, eventId, endpointId, queuedAt: wireTime(at) },
      }
    },

    async getWebhookSentEvent({ caller, path: { endpointId, eventId } }) {
      const of = { endpointId, userId: caller.accountId, eventId }
      const filter = { status: null, eventType: null, before: null, limit: attemptsShown }
      const [event, attempts] = await Promise.all([
        findSentEvent(db, of),
        findAttemptsBy(db, { ...of, ...filter }),
      ])
      if (event === undefined) return refuse('webhook_event_not_found')
      return {
        status: 200,
        body: {
          schemaVersion: schemaVersion('webhook_sent_event'),
          endpointId,
          eventId,
          eventType: event.type,
          createdAt: wireTime(event.createdAt),
          status: event.status,
          payload: event.body,
          deliveries: attempts.map(wireDelivery),
        },
      }
    },
  }
}

function contextOf({ db, clock }: AccountWebhookOptions, caller: SessionCaller): ActionContext {
  return { db, clock, actor: actorOf(caller) }
}

async function stateAnswer(
  { db, clock }: AccountWebhookOptions,
  { accountId: userId }: SessionCaller,
  id: string,
): Promise<Answer> {
  const [endpoint] = await findEndpointHealth(db, { userId, endpointId: id }, clock())
  if (endpoint === undefined) return refuse('webhook_endpoint_not_found')
  const { pausedAt, nextSecretSignsFrom, previousSecretEndsAt } = endpoint
  const body: Static<typeof endpointState> = {
    schemaVersion: schemaVersion('webhook_endpoint_state'),
    endpointId: endpoint.id,
    pausedAt: pausedAt && wireTime(pausedAt),
    secretPrefix: endpoint.secretPrefix,
    nextSecretSignsFrom: nextSecretSignsFrom && wireTime(nextSecretSignsFrom),
    previousSecretEndsAt: previousSecretEndsAt && wireTime(previousSecretEndsAt),
  }
  return { status: 200, body }
}

interface PauseRequest {
  caller: SessionCaller
  path: { endpointId: string }
  body: unknown
}

/** Returns the refusal of a body that is not `{}`, or null. */
function faultOf(body: unknown): Refusal | null {
  const read = parseBody(emptyShape, body)
  return 'fault' in read ? refuse('invalid_field', { message: read.fault }) : null
}

function own({ accountId }: SessionCaller, endpointId: string) {
  return { endpointId, owner: { userId: accountId } }
}

function secretAnswer(
  endpointId: string,
  { secret, signsFrom }: { secret: string; signsFrom: Date },
): Answer {
  const body: Static<typeof newSecret> = {
    schemaVersion: schemaVersion('webhook_secret'),
    endpointId,
    signingSecret: secret,
    signsFrom: wireTime(signsFrom),
  }
  return { status: 201, body }
}
