/** Pure: actions on accounts: their keys, credits, webhooks and reports. */
import { Type } from 'typebox'
import { environments } from '../platform/http/callers.ts'
import { closed, count, digest, facts, uuid } from './action-facts.ts'

const credits = Type.Integer({ minimum: -1e15, maximum: 1e15 })
const entries = Type.Integer({ minimum: 1, maximum: 1e15 })

export const accountActions = {
  'webhooks.enabled': facts({
    meaning: 'A webhook endpoint that was disabled receives events again.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.paused': facts({
    meaning: 'Deliveries to a webhook endpoint are held back.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.resumed': facts({
    meaning: 'Deliveries to a webhook endpoint go out again.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.resent': facts({
    meaning: 'An event is sent to a webhook endpoint once more.',
    subject: uuid,
    details: Type.Object({ eventId: Type.String({ pattern: '^evt_[0-9a-f]{32}$' }) }, closed),
  }),
  'webhooks.replayed': facts({
    meaning: 'A batch of events that a webhook endpoint missed is sent to it.',
    subject: uuid,
    details: Type.Object({ count }, closed),
  }),
  'webhooks.rotated': facts({
    meaning: 'A new secret of a webhook endpoint was announced.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.secret_replaced': facts({
    meaning:
      'The secret of a webhook endpoint was replaced at once: every older one signs nothing any more.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.secret_activated': facts({
    meaning: 'The announced secret of a webhook endpoint signs from now on.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'accounts.created': facts({
    meaning: 'An account was made.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'api_keys.created': facts({
    meaning: 'An API key was made for an account.',
    subject: uuid,
    details: Type.Object({ account: uuid, environment: Type.Enum([...environments]) }, closed),
  }),
  'api_keys.rotated': facts({
    meaning: 'An API key was given a successor, and ends after so many hours; 0: at once.',
    subject: uuid,
    details: Type.Object(
      { successor: uuid, overlapHours: Type.Integer({ minimum: 0, maximum: 168 }) },
      closed,
    ),
  }),
  'api_keys.moved': facts({
    meaning:
      'API keys rest on another pepper from now on: they were used since it is the first of the ring.',
    subject: uuid,
    details: Type.Object({ pepper: Type.String({ pattern: '^[\\w.-]{1,64}$' }) }, closed),
  }),
  'api_keys.restricted': facts({
    meaning: 'An API key may be used from so many networks alone; 0: from anywhere.',
    subject: uuid,
    details: Type.Object({ networks: Type.Integer({ minimum: 0, maximum: 20 }) }, closed),
  }),
  'api_keys.revoked': facts({
    meaning: 'An API key was revoked.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'credits.granted': facts({
    meaning: 'An account was given credits; the books hold the reason.',
    subject: uuid,
    details: Type.Object({ credits, balance: credits }, closed),
  }),
  'credits.adjusted': facts({
    meaning: 'The credits of an account were corrected; the books hold the reason.',
    subject: uuid,
    details: Type.Object({ credits, balance: credits }, closed),
  }),
  'credits.resumed': facts({
    meaning: 'Accounts that were suspended are charged again: their books add up.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'credits.archived': facts({
    meaning: 'The entries of a month left the books for a file; its digest and their sums stay.',
    subject: uuid,
    details: Type.Object(
      {
        month: Type.String({ pattern: '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$' }),
        entries,
        sha256: digest,
      },
      closed,
    ),
  }),
  'payments.closed': facts({
    meaning:
      'An operator said of a payment on the spot that was left open whether it was paid; the ledger holds the transaction.',
    subject: uuid,
    details: Type.Object({ paid: Type.Boolean() }, closed),
  }),
  'webhooks.created': facts({
    meaning: 'A webhook endpoint was created for an account.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.disabled': facts({
    meaning: 'A webhook endpoint was disabled.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.given_up': facts({
    meaning:
      'The service disabled webhook endpoints by itself: the receiver answered 410 (`gone`), or nothing succeeded for five days (`failing`).',
    subject: uuid,
    details: Type.Object({ reason: Type.Enum(['gone', 'failing']) }, closed),
  }),
  'webhooks.limited': facts({
    meaning: 'A webhook endpoint is sent so many deliveries a second, or at once, at most.',
    subject: uuid,
    details: Type.Object(
      {
        perSecond: Type.Optional(
          Type.Union([Type.Integer({ minimum: 1, maximum: 1_000 }), Type.Null()]),
        ),
        atOnce: Type.Optional(Type.Integer({ minimum: 1, maximum: 16 })),
      },
      closed,
    ),
  }),
  'webhooks.reencrypted': facts({
    meaning: 'A batch of webhook secrets was sealed under the first key of the ring.',
    subject: uuid,
    details: Type.Object({ count }, closed),
  }),
  'agent_reporting.unlocked': facts({
    meaning: 'An account may report agent decisions; `reviewed` tells whether it had asked.',
    subject: uuid,
    details: Type.Object({ reviewed: Type.Boolean() }, closed),
  }),
  'agent_reporting.declined': facts({
    meaning: 'An account’s request to report agent decisions was declined.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'agent_reporting.locked': facts({
    meaning: 'An account may not report agent decisions any more.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'agent_reports.erased': facts({
    meaning: 'Reports about a person or a score were deleted. Whom they were about is not kept.',
    subject: uuid,
    details: Type.Object({ count }, closed),
  }),
} as const
