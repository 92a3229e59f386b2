/** Pure: actions on accounts: their keys, credits, webhooks and reports. */
import { Type } from 'typebox'
import { consoleRoles, environments, operatorRoles } from '../edge/http/callers.ts'
import { closed, count, digest, facts, uuid } from './action-facts.ts'

const credits = Type.Integer({ minimum: -1e15, maximum: 1e15 })
const entries = Type.Integer({ minimum: 1, maximum: 1e15 })

export const accountActions = {
  'webhooks.enabled': facts({
    meaning: 'A disabled webhook endpoint receives events again.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'webhooks.paused': facts({
    meaning: 'Deliveries to a webhook endpoint were paused.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'webhooks.resumed': facts({
    meaning: 'Deliveries to a webhook endpoint were resumed.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'webhooks.resent': facts({
    meaning: 'An event was queued for a webhook endpoint once more.',
    subject: uuid,
    account: 'given',
    details: Type.Object({ eventId: Type.String({ pattern: '^evt_[0-9a-f]{32}$' }) }, closed),
  }),
  'webhooks.bulk_resent': facts({
    meaning: 'Several events were queued for a webhook endpoint once more.',
    subject: uuid,
    account: 'given',
    details: Type.Object({ count }, closed),
  }),
  'webhooks.replayed': facts({
    meaning: 'Events that a webhook endpoint missed were queued for it.',
    subject: uuid,
    account: 'given',
    details: Type.Object({ count }, closed),
  }),
  'webhooks.rotated': facts({
    meaning: 'A new secret of a webhook endpoint was announced.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'webhooks.secret_replaced': facts({
    meaning:
      'The secret of a webhook endpoint was replaced at once; older ones sign nothing any more.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'webhooks.secret_activated': facts({
    meaning: 'The announced secret of a webhook endpoint began to sign.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'accounts.created': facts({
    meaning: 'An account was created.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({}, closed),
  }),
  'operators.token_created': facts({
    meaning: 'An operator token was made.',
    subject: uuid,
    details: Type.Object({ role: Type.Enum([...operatorRoles]) }, closed),
  }),
  'operators.token_revoked': facts({
    meaning: 'An operator token was revoked.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'operators.granted': facts({
    meaning: 'A user got an operator role.',
    subject: uuid,
    details: Type.Object({ role: Type.Enum([...consoleRoles]) }, closed),
  }),
  'operators.withdrawn': facts({
    meaning: 'The operator role of a user was withdrawn.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'api_keys.created': facts({
    meaning: 'An API key was created for an account.',
    subject: uuid,
    account: 'details',
    details: Type.Object({ account: uuid, environment: Type.Enum([...environments]) }, closed),
  }),
  'api_keys.rotated': facts({
    meaning: 'An API key got a successor and ends after `overlapHours`.',
    subject: uuid,
    account: 'given',
    details: Type.Object(
      { successor: uuid, overlapHours: Type.Integer({ minimum: 0, maximum: 168 }) },
      closed,
    ),
  }),
  'api_keys.restricted': facts({
    meaning: 'An API key was restricted to `networks` networks; 0 means none.',
    subject: uuid,
    account: 'given',
    details: Type.Object({ networks: Type.Integer({ minimum: 0, maximum: 20 }) }, closed),
  }),
  'api_keys.revoked': facts({
    meaning: 'An API key was revoked.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'credits.granted': facts({
    meaning: 'An account was given credits; the books hold the reason.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({ credits, balance: credits }, closed),
  }),
  'credits.adjusted': facts({
    meaning: 'The credits of an account were corrected; the books hold the reason.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({ credits, balance: credits }, closed),
  }),
  'credits.resumed': facts({
    meaning: 'Suspended accounts with correct books were released.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({}, closed),
  }),
  'credits.archived': facts({
    meaning: 'The entries of a month were archived into a file.',
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
    meaning: 'An operator closed an open x402 payment as paid or not paid.',
    subject: uuid,
    details: Type.Object({ paid: Type.Boolean() }, closed),
  }),
  'payments.refunded': facts({
    meaning: 'An operator recorded that the money of an x402 payment was given back.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.created': facts({
    meaning: 'A webhook endpoint was created for an account.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'webhooks.disabled': facts({
    meaning: 'A webhook endpoint was disabled.',
    subject: uuid,
    account: 'given',
    details: Type.Object({}, closed),
  }),
  'webhooks.given_up': facts({
    meaning:
      'The service disabled webhook endpoints: their receiver answered 410 (`gone`), or failed for five days (`failing`).',
    subject: uuid,
    account: 'given',
    details: Type.Object({ reason: Type.Enum(['gone', 'failing']) }, closed),
  }),
  'webhooks.limited': facts({
    meaning: 'The rate of deliveries to a webhook endpoint was limited.',
    subject: uuid,
    account: 'given',
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
    meaning: 'Webhook secrets were encrypted under the first key of the keyring.',
    subject: uuid,
    details: Type.Object({ count }, closed),
  }),
  'agent_reporting.review_requested': facts({
    meaning: 'A member requested a review of the lock of agent reports.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({}, closed),
  }),
  'agent_reporting.unlocked': facts({
    meaning:
      'An account was unlocked for agent reports; `reviewed` says whether it had requested that.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({ reviewed: Type.Boolean() }, closed),
  }),
  'agent_reporting.declined': facts({
    meaning: 'A request to unlock agent reports was declined.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({}, closed),
  }),
  'agent_reporting.locked': facts({
    meaning: 'An account was locked for agent reports.',
    subject: uuid,
    account: 'subject',
    details: Type.Object({}, closed),
  }),
  'agent_reports.erased': facts({
    meaning:
      'Agent reports about a worker or a score were erased; the audit log does not keep which.',
    subject: uuid,
    details: Type.Object({ count }, closed),
  }),
} as const
