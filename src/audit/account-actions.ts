/**
 * Pure: actions on accounts: their keys, credits, webhooks, reports and users. The addresses of
 * users are not in the log: an erased user leaves an id.
 */
import { Type } from 'typebox'
import { consoleRoles, environments, operatorRoles, roles } from '../edge/http/callers.ts'
import {
  count,
  digest,
  facts,
  factsAboutAccount,
  factsNamingAccount,
  factsWithAccount,
  uuid,
} from './action-facts.ts'

const credits = Type.Integer({ minimum: -1e15, maximum: 1e15 })
const entries = Type.Integer({ minimum: 1, maximum: 1e15 })

export const accountActions = {
  'webhooks.enabled': factsWithAccount('A disabled webhook endpoint receives events again.'),
  'webhooks.paused': factsWithAccount('Deliveries to a webhook endpoint were paused.'),
  'webhooks.resumed': factsWithAccount('Deliveries to a webhook endpoint were resumed.'),
  'webhooks.resent': factsWithAccount('An event was queued for a webhook endpoint once more.', {
    eventId: Type.String({ pattern: '^evt_[0-9a-f]{32}$' }),
  }),
  'webhooks.bulk_resent': factsWithAccount(
    'Several events were queued for a webhook endpoint once more.',
    { count },
  ),
  'webhooks.replayed': factsWithAccount(
    'Events that a webhook endpoint missed were queued for it.',
    { count },
  ),
  'webhooks.rotated': factsWithAccount('A new secret of a webhook endpoint was announced.'),
  'webhooks.secret_replaced': factsWithAccount(
    'The secret of a webhook endpoint was replaced at once; older ones sign nothing any more.',
  ),
  'webhooks.secret_activated': factsWithAccount(
    'The announced secret of a webhook endpoint began to sign.',
  ),
  'accounts.created': factsAboutAccount('An account was created.'),
  'operators.token_created': facts('An operator token was made.', {
    role: Type.Enum([...operatorRoles]),
  }),
  'operators.token_revoked': facts('An operator token was revoked.'),
  'operators.granted': facts('A user got an operator role.', {
    role: Type.Enum([...consoleRoles]),
  }),
  'operators.withdrawn': facts('The operator role of a user was withdrawn.'),
  'api_keys.created': factsNamingAccount('An API key was created for an account.', {
    environment: Type.Enum([...environments]),
  }),
  'api_keys.rotated': factsWithAccount(
    'An API key got a successor and ends after `overlapHours`.',
    {
      successor: uuid,
      overlapHours: Type.Integer({ minimum: 0, maximum: 168 }),
    },
  ),
  'api_keys.restricted': factsWithAccount(
    'An API key was restricted to `networks` networks; 0 means none.',
    { networks: Type.Integer({ minimum: 0, maximum: 20 }) },
  ),
  'api_keys.revoked': factsWithAccount('An API key was revoked.'),
  'credits.granted': factsAboutAccount('An account was given credits; the books hold the reason.', {
    credits,
    balance: credits,
  }),
  'credits.adjusted': factsAboutAccount(
    'The credits of an account were corrected; the books hold the reason.',
    { credits, balance: credits },
  ),
  'credits.resumed': factsAboutAccount('Suspended accounts with correct books were released.'),
  'credits.archived': facts('The entries of a month were archived into a file.', {
    month: Type.String({ pattern: '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$' }),
    entries,
    sha256: digest,
  }),
  'payments.closed': facts('An operator closed an open x402 payment as paid or not paid.', {
    paid: Type.Boolean(),
  }),
  'payments.refunded': facts(
    'An operator recorded that the money of an x402 payment was given back.',
  ),
  'webhooks.created': factsWithAccount('A webhook endpoint was created for an account.'),
  'webhooks.disabled': factsWithAccount('A webhook endpoint was disabled.'),
  'webhooks.given_up': factsWithAccount(
    'The service disabled webhook endpoints: their receiver answered 410 (`gone`), or failed for five days (`failing`).',
    { reason: Type.Enum(['gone', 'failing']) },
  ),
  'webhooks.limited': factsWithAccount(
    'The rate of deliveries to a webhook endpoint was limited.',
    {
      perSecond: Type.Optional(
        Type.Union([Type.Integer({ minimum: 1, maximum: 1_000 }), Type.Null()]),
      ),
      atOnce: Type.Optional(Type.Integer({ minimum: 1, maximum: 16 })),
    },
  ),
  'webhooks.reencrypted': facts(
    'Webhook secrets were encrypted under the first key of the keyring.',
    { count },
  ),
  'agent_reporting.review_requested': factsAboutAccount(
    'A member requested a review of the lock of agent reports.',
  ),
  'agent_reporting.unlocked': factsAboutAccount(
    'An account was unlocked for agent reports; `reviewed` says whether it had requested that.',
    { reviewed: Type.Boolean() },
  ),
  'agent_reporting.declined': factsAboutAccount('A request to unlock agent reports was declined.'),
  'agent_reporting.locked': factsAboutAccount('An account was locked for agent reports.'),
  'agent_reports.erased': facts(
    'Agent reports about a worker or a score were erased; the audit log does not keep which.',
    { count },
  ),
} as const

/** The notices that an owner of an account gets by mail. */
export const ownerNoticeNames = [
  'webhooks_failing',
  'webhooks_disabled',
  'credits_low',
  'credits_gone',
  'key_ends',
] as const
export type OwnerNotice = (typeof ownerNoticeNames)[number]

export const userActions = {
  'users.invited': factsNamingAccount(
    'An address was invited to an account, by an operator perhaps once more; the subject is the invitation.',
    { role: Type.Enum([...roles]) },
  ),
  'users.invitation_resent': factsNamingAccount(
    'An invitation was mailed again, or a new link of it was handed over.',
  ),
  'users.invitation_withdrawn': factsNamingAccount(
    'An invitation was withdrawn before its answer.',
  ),
  'users.invitation_declined': factsNamingAccount('The invited person declined.'),
  'users.joined': factsNamingAccount(
    'A user accepted an invitation and became a member of an account.',
    { role: Type.Enum([...roles]) },
  ),
  'users.made_owner': factsNamingAccount('An owner made another member an owner.'),
  'users.chose_notices': factsNamingAccount(
    'An owner or the operator chose the notices that an owner gets by mail.',
    {
      off: Type.Array(Type.Enum([...ownerNoticeNames])),
    },
  ),
  'users.left': factsNamingAccount('A user left an account.'),
  'users.removed': factsNamingAccount('An owner removed a user from an account.'),
  'users.signed_up': factsNamingAccount('A user signed up and owns a new account.'),
  'users.link_made': facts('A sign-in link was made for a user and printed.'),
  'users.disabled': facts('A user was disabled, and every session of the user ended.'),
  'users.enabled': facts('A disabled user was enabled.'),
  'users.erased': facts(
    'A user was erased, with memberships, sessions, invitations and waiting mails; without a user, the subjects are invitations.',
  ),
} as const
