/** Pure: actions on workers, on their data and on their scores. */
import { Type } from 'typebox'
import { closed, count, digest, facts, uuid } from './action-facts.ts'

const countOrNone = Type.Integer({ minimum: 0, maximum: 1_000_000_000 })
const permission = Type.Enum(['public_profile', 'search_listing', 'score_sharing'])

export const peopleActions = {
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
} as const
