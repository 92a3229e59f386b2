/** Pure: actions on workers, on their data and on their scores. */
import { Type } from 'typebox'
import { closedObject } from '../platform/json/closed-object.ts'
import { count, digest, facts, uuid } from './action-facts.ts'

const countOrNone = Type.Integer({ minimum: 0, maximum: 1_000_000_000 })
const permission = Type.Enum(['public_profile', 'search_listing', 'score_sharing'])

const sourceId = Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' })

export const workerActions = {
  'workers.imported': facts({
    meaning: 'Workers were registered or changed; the subjects are their ids.',
    subject: uuid,
    details: closedObject({ created: countOrNone, updated: countOrNone }),
  }),
  'workers.exported': facts({
    meaning: 'The data of a worker was exported.',
    subject: uuid,
    details: closedObject({}),
  }),
  'workers.erased': facts({
    meaning: 'A worker was erased.',
    subject: uuid,
    details: closedObject({
      reason: Type.Enum(['worker_request', 'no_longer_needed', 'unlawful', 'policy']),
      credentialsErased: countOrNone,
      evidenceErased: countOrNone,
      reportsErased: countOrNone,
    }),
  }),
  'consent.granted': facts({
    meaning: 'A consent of a worker was recorded.',
    subject: uuid,
    details: closedObject({ permission }),
  }),
  'consent.withdrawn': facts({
    meaning: 'The withdrawal of a consent was recorded.',
    subject: uuid,
    details: closedObject({ permission }),
  }),
  'consent.imported': facts({
    meaning: 'Consents of workers were recorded; the subjects are the ids of the workers.',
    subject: uuid,
    details: closedObject({ granted: countOrNone, withdrawn: countOrNone }),
  }),
  'identity.imported': facts({
    meaning: 'Identity checks of workers were recorded; the subjects are the ids of the workers.',
    subject: uuid,
    details: closedObject({ verified: countOrNone, revoked: countOrNone }),
  }),
  'identity.verified': facts({
    meaning: 'The identity check of a worker was recorded.',
    subject: uuid,
    details: closedObject({}),
  }),
  'identity.revoked': facts({
    meaning: 'The identity check of a worker was revoked.',
    subject: uuid,
    details: closedObject({}),
  }),
  'sources.registered': facts({
    meaning: 'Sources of evidence were registered or changed.',
    subject: sourceId,
    details: closedObject({ registered: countOrNone, changed: countOrNone }),
  }),
  'sources.suspended': facts({
    meaning: 'A source was suspended: its evidence counts for nothing.',
    subject: sourceId,
    details: closedObject({}),
  }),
  'sources.resumed': facts({
    meaning: 'A suspended source was resumed: its evidence counts again.',
    subject: sourceId,
    details: closedObject({}),
  }),
  'evidence.imported': facts({
    meaning: 'Evidence was imported; the subjects are the first and the last id.',
    subject: uuid,
    details: closedObject({ count }),
  }),
  'reports.made': facts({
    meaning: 'A report for auditors was made; the details say which one and how many rows.',
    subject: uuid,
    details: closedObject({
      report: Type.Enum(['score-export', 'impact', 'sources', 'reliability']),
      rows: countOrNone,
    }),
  }),
  'scores.marked': facts({
    meaning: 'All workers with evidence were marked to be scored again.',
    subject: uuid,
    details: closedObject({ count: countOrNone }),
  }),
  'scores.recomputed': facts({
    meaning: 'Workers were scored; the subjects are the first and the last id.',
    subject: uuid,
    details: closedObject({
      count,
      issued: countOrNone,
      reissued: countOrNone,
      withdrawn: countOrNone,
      unscorable: countOrNone,
    }),
  }),
  'engines.recalled': facts({
    meaning: 'An engine was recalled; its `active` scores are computed again.',
    subject: digest,
    details: closedObject({
      version: Type.String({ pattern: '^[0-9]+(\\.[0-9]+){2}$' }),
      reason: Type.Enum(['wrong_result', 'wrong_algorithm', 'unfair', 'compromised']),
      active: countOrNone,
    }),
  }),
  'evidence.revoked': facts({
    meaning: 'Evidence was revoked; the subjects are its ids.',
    subject: uuid,
    details: closedObject({
      reason: Type.Enum([
        'source_removed',
        'source_invalid',
        'worker_request',
        'dispute_upheld',
        'policy',
      ]),
    }),
  }),
  'evidence.reassigned': facts({
    meaning: 'Evidence was assigned to another worker.',
    subject: uuid,
    details: closedObject({ from: uuid, to: uuid, count }),
  }),
  'disputes.opened': facts({
    meaning: 'A dispute was opened; `excluded` items of evidence do not count until it ends.',
    subject: uuid,
    details: closedObject({
      kind: Type.Enum(['score', 'evidence', 'identity']),
      restricted: Type.Boolean(),
      excluded: countOrNone,
    }),
  }),
  'disputes.reviewed': facts({
    meaning: 'A dispute came under review.',
    subject: uuid,
    details: closedObject({}),
  }),
  'disputes.resolved': facts({
    meaning: 'A dispute was resolved.',
    subject: uuid,
    details: closedObject({ resolution: Type.Enum(['upheld', 'partly_upheld', 'rejected']) }),
  }),
  'disputes.withdrawn': facts({
    meaning: 'A dispute was withdrawn; its excluded evidence counts again.',
    subject: uuid,
    details: closedObject({}),
  }),
} as const
