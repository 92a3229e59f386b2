/** Pure: actions on accounts: their keys, credits, webhooks and reports. */
import { Type } from 'typebox'
import { consoleRoles, environments, operatorRoles } from '../edge/http/callers.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import { count, digest, facts, uuid } from './action-facts.ts'

const credits = Type.Integer({ minimum: -1e15, maximum: 1e15 })
const entries = Type.Integer({ minimum: 1, maximum: 1e15 })

export const accountActions = {
  'webhooks.enabled': facts({
    meaning: 'A disabled webhook endpoint receives events again.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'webhooks.paused': facts({
    meaning: 'Deliveries to a webhook endpoint were paused.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'webhooks.resumed': facts({
    meaning: 'Deliveries to a webhook endpoint were resumed.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'webhooks.resent': facts({
    meaning: 'An event was queued for a webhook endpoint once more.',
    subject: uuid,
    account: 'given',
    details: closedObject({ eventId: Type.String({ pattern: '^evt_[0-9a-f]{32}$' }) }),
  }),
  'webhooks.bulk_resent': facts({
    meaning: 'Several events were queued for a webhook endpoint once more.',
    subject: uuid,
    account: 'given',
    details: closedObject({ count }),
  }),
  'webhooks.replayed': facts({
    meaning: 'Events that a webhook endpoint missed were queued for it.',
    subject: uuid,
    account: 'given',
    details: closedObject({ count }),
  }),
  'webhooks.rotated': facts({
    meaning: 'A new secret of a webhook endpoint was announced.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'webhooks.secret_replaced': facts({
    meaning:
      'The secret of a webhook endpoint was replaced at once; older ones sign nothing any more.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'webhooks.secret_activated': facts({
    meaning: 'The announced secret of a webhook endpoint began to sign.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'accounts.created': facts({
    meaning: 'An account was created.',
    subject: uuid,
    account: 'subject',
    details: closedObject({}),
  }),
  'operators.token_created': facts({
    meaning: 'An operator token was made.',
    subject: uuid,
    details: closedObject({ role: Type.Enum([...operatorRoles]) }),
  }),
  'operators.token_revoked': facts({
    meaning: 'An operator token was revoked.',
    subject: uuid,
    details: closedObject({}),
  }),
  'operators.granted': facts({
    meaning: 'A user got an operator role.',
    subject: uuid,
    details: closedObject({ role: Type.Enum([...consoleRoles]) }),
  }),
  'operators.withdrawn': facts({
    meaning: 'The operator role of a user was withdrawn.',
    subject: uuid,
    details: closedObject({}),
  }),
  'api_keys.created': facts({
    meaning: 'An API key was created for an account.',
    subject: uuid,
    account: 'details',
    details: closedObject({ account: uuid, environment: Type.Enum([...environments]) }),
  }),
  'api_keys.rotated': facts({
    meaning: 'An API key got a successor and ends after `overlapHours`.',
    subject: uuid,
    account: 'given',
    details: closedObject({
      successor: uuid,
      overlapHours: Type.Integer({ minimum: 0, maximum: 168 }),
    }),
  }),
  'api_keys.restricted': facts({
    meaning: 'An API key was restricted to `networks` networks; 0 means none.',
    subject: uuid,
    account: 'given',
    details: closedObject({ networks: Type.Integer({ minimum: 0, maximum: 20 }) }),
  }),
  'api_keys.revoked': facts({
    meaning: 'An API key was revoked.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'credits.granted': facts({
    meaning: 'An account was given credits; the books hold the reason.',
    subject: uuid,
    account: 'subject',
    details: closedObject({ credits, balance: credits }),
  }),
  'credits.adjusted': facts({
    meaning: 'The credits of an account were corrected; the books hold the reason.',
    subject: uuid,
    account: 'subject',
    details: closedObject({ credits, balance: credits }),
  }),
  'credits.resumed': facts({
    meaning: 'Suspended accounts with correct books were released.',
    subject: uuid,
    account: 'subject',
    details: closedObject({}),
  }),
  'credits.archived': facts({
    meaning: 'The entries of a month were archived into a file.',
    subject: uuid,
    details: closedObject({
      month: Type.String({ pattern: '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$' }),
      entries,
      sha256: digest,
    }),
  }),
  'payments.closed': facts({
    meaning: 'An operator closed an open x402 payment as paid or not paid.',
    subject: uuid,
    details: closedObject({ paid: Type.Boolean() }),
  }),
  'payments.refunded': facts({
    meaning: 'An operator recorded that the money of an x402 payment was given back.',
    subject: uuid,
    details: closedObject({}),
  }),
  'webhooks.created': facts({
    meaning: 'A webhook endpoint was created for an account.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'webhooks.disabled': facts({
    meaning: 'A webhook endpoint was disabled.',
    subject: uuid,
    account: 'given',
    details: closedObject({}),
  }),
  'webhooks.given_up': facts({
    meaning:
      'The service disabled webhook endpoints: their receiver answered 410 (`gone`), or failed for five days (`failing`).',
    subject: uuid,
    account: 'given',
    details: closedObject({ reason: Type.Enum(['gone', 'failing']) }),
  }),
  'webhooks.limited': facts({
    meaning: 'The rate of deliveries to a webhook endpoint was limited.',
    subject: uuid,
    account: 'given',
    details: closedObject({
      perSecond: Type.Optional(
        Type.Union([Type.Integer({ minimum: 1, maximum: 1_000 }), Type.Null()]),
      ),
      atOnce: Type.Optional(Type.Integer({ minimum: 1, maximum: 16 })),
    }),
  }),
  'webhooks.reencrypted': facts({
    meaning: 'Webhook secrets were encrypted under the first key of the keyring.',
    subject: uuid,
    details: closedObject({ count }),
  }),
  'agent_reporting.review_requested': facts({
    meaning: 'A member requested a review of the lock of agent reports.',
    subject: uuid,
    account: 'subject',
    details: closedObject({}),
  }),
  'agent_reporting.unlocked': facts({
    meaning:
      'An account was unlocked for agent reports; `reviewed` says whether it had requested that.',
    subject: uuid,
    account: 'subject',
    details: closedObject({ reviewed: Type.Boolean() }),
  }),
  'agent_reporting.declined': facts({
    meaning: 'A request to unlock agent reports was declined.',
    subject: uuid,
    account: 'subject',
    details: closedObject({}),
  }),
  'agent_reporting.locked': facts({
    meaning: 'An account was locked for agent reports.',
    subject: uuid,
    account: 'subject',
    details: closedObject({}),
  }),
  'agent_reports.erased': facts({
    meaning:
      'Agent reports about a worker or a score were erased; the audit log does not keep which.',
    subject: uuid,
    details: closedObject({ count }),
  }),
} as const
