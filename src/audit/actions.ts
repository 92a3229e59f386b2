/**
 * Pure: every action that the audit log knows, one row each: what it means, whom or what it concerns, and its details. All of it is ids,
 * counts and words of closed lists: never a secret, a token, a claim or a person's name.
 */
import { type Static, type TObject, type TString, Type } from 'typebox'
import { environments } from '../platform/callers.ts'

interface ActionFacts<Details extends TObject = TObject> {
  meaning: string
  /** The form of each subject id. */
  subject: TString
  details: Details
}

function facts<Details extends TObject>(row: ActionFacts<Details>): ActionFacts<Details> {
  return row
}

const closed = { additionalProperties: false }
const kid = Type.String({ pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$' })
const digest = Type.String({ pattern: '^[0-9a-f]{64}$' })
const uuid = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
})
const migration = Type.String({ pattern: '^[0-9]{4}_[a-z0-9_]+\\.sql$' })
const count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })

const countOrNone = Type.Integer({ minimum: 0, maximum: 1_000_000_000 })
const credits = Type.Integer({ minimum: -1e15, maximum: 1e15 })
const permission = Type.Enum(['public_profile', 'search_listing', 'score_sharing'])

export const actions = {
  'database.migrated': facts({
    meaning: 'Migrations were applied: the subjects.',
    subject: migration,
    details: Type.Object({ count }, closed),
  }),
  'keys.created': facts({
    meaning: 'A signing key was registered; an active one signs at once.',
    subject: kid,
    details: Type.Object({ state: Type.Enum(['pending', 'active']) }, closed),
  }),
  'keys.rotated': facts({
    meaning: 'A pending key became the active one, and the one before it retired.',
    subject: kid,
    details: Type.Object(
      { active: kid, retired: Type.Union([kid, Type.Null()]), atOnce: Type.Boolean() },
      closed,
    ),
  }),
  'keys.revoked': facts({
    meaning: 'A key was revoked: nothing it signed is valid any more.',
    subject: kid,
    details: Type.Object({}, closed),
  }),
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
  'webhooks.recovered': facts({
    meaning: 'A batch of events that a webhook endpoint missed is sent to it.',
    subject: uuid,
    details: Type.Object({ count }, closed),
  }),
  'webhooks.rotated': facts({
    meaning: 'A new secret of a webhook endpoint was announced.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'webhooks.promoted': facts({
    meaning: 'The announced secret of a webhook endpoint signs from now on.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'credentials.issued': facts({
    meaning: 'A batch of credentials was issued, signed by the key in the subjects.',
    subject: kid,
    details: Type.Object({ count, firstId: uuid, lastId: uuid }, closed),
  }),
  'credentials.revoked': facts({
    meaning: 'Credentials were revoked: the subjects are their digests.',
    subject: digest,
    details: Type.Object({ count }, closed),
  }),
  'workers.imported': facts({
    meaning: 'A batch of people was registered or changed: the subjects are their worker ids.',
    subject: uuid,
    details: Type.Object({ created: countOrNone, updated: countOrNone }, closed),
  }),
  'workers.exported': facts({
    meaning: 'All that is stored about a person was given out.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'workers.erased': facts({
    meaning: 'A person was erased; the id is all that is left.',
    subject: uuid,
    details: Type.Object(
      {
        reason: Type.Enum(['worker_request', 'no_longer_needed', 'unlawful', 'policy']),
        credentialsErased: countOrNone,
        evidenceErased: countOrNone,
        reportsErased: countOrNone,
      },
      closed,
    ),
  }),
  'consent.granted': facts({
    meaning: 'A person’s permission was entered.',
    subject: uuid,
    details: Type.Object({ permission }, closed),
  }),
  'consent.withdrawn': facts({
    meaning: 'The withdrawal of a permission was entered.',
    subject: uuid,
    details: Type.Object({ permission }, closed),
  }),
  'identity.verified': facts({
    meaning: 'A person’s identity was recorded as checked.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'identity.revoked': facts({
    meaning: 'The check of a person’s identity does not count any more.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'sources.registered': facts({
    meaning: 'Sources of evidence were registered, or what they are trusted with was changed.',
    subject: Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' }),
    details: Type.Object({ registered: countOrNone, changed: countOrNone }, closed),
  }),
  'evidence.imported': facts({
    meaning: 'A batch of evidence was taken in; the subjects are its first and its last id.',
    subject: uuid,
    details: Type.Object({ count }, closed),
  }),
  'scores.marked': facts({
    meaning: 'Everybody with evidence was marked to be scored again.',
    subject: uuid,
    details: Type.Object({ count: countOrNone }, closed),
  }),
  'scores.recomputed': facts({
    meaning: 'A batch of people was scored again; the subjects are its first and its last.',
    subject: uuid,
    details: Type.Object(
      { count, issued: countOrNone, withdrawn: countOrNone, unscorable: countOrNone },
      closed,
    ),
  }),
  'engines.recalled': facts({
    meaning: 'An engine was found to be wrong; `active` scores of it are made again.',
    subject: digest,
    details: Type.Object(
      {
        version: Type.String({ pattern: '^[0-9]+(\\.[0-9]+){2}$' }),
        reason: Type.Enum(['wrong_result', 'wrong_algorithm', 'unfair', 'compromised']),
        active: countOrNone,
      },
      closed,
    ),
  }),
  'evidence.revoked': facts({
    meaning: 'Evidence was revoked: the subjects.',
    subject: uuid,
    details: Type.Object(
      {
        reason: Type.Enum([
          'source_removed',
          'source_invalid',
          'worker_request',
          'dispute_upheld',
          'policy',
        ]),
      },
      closed,
    ),
  }),
  'evidence.reassigned': facts({
    meaning:
      'Evidence turned out to be another person’s: a batch of it went from one to the other.',
    subject: uuid,
    details: Type.Object({ from: uuid, to: uuid, count }, closed),
  }),
  'disputes.opened': facts({
    meaning: 'A dispute was opened; `excluded` items of evidence are set aside until it ends.',
    subject: uuid,
    details: Type.Object(
      {
        kind: Type.Enum(['score', 'evidence', 'identity']),
        restricted: Type.Boolean(),
        excluded: countOrNone,
      },
      closed,
    ),
  }),
  'disputes.reviewed': facts({
    meaning: 'A dispute came under review.',
    subject: uuid,
    details: Type.Object({}, closed),
  }),
  'disputes.resolved': facts({
    meaning: 'A dispute was resolved, with all that follows from it.',
    subject: uuid,
    details: Type.Object(
      { resolution: Type.Enum(['upheld', 'partly_upheld', 'rejected']) },
      closed,
    ),
  }),
  'disputes.withdrawn': facts({
    meaning: 'A dispute was withdrawn: what it had set aside counts again.',
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
  'webhooks.rewrapped': facts({
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

export type ActionName = keyof typeof actions

export const actionNames = Object.keys(actions) as ActionName[]

/** An action with the details of its kind. */
export type Action = { [Name in ActionName]: ActionOf<Name> }[ActionName]

interface ActionOf<Name extends ActionName> {
  action: Name
  subjects: readonly string[]
  details: Static<(typeof actions)[Name]['details']>
}
