/** Pure: actions on workers, on their data and on their scores. */
import { Type } from 'typebox'
import { count, digest, facts, uuid } from './action-facts.ts'

const countOrNone = Type.Integer({ minimum: 0, maximum: 1_000_000_000 })
const permission = Type.Enum(['public_profile', 'search_listing', 'score_sharing'])

const sourceId = Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' })

export const workerActions = {
  'workers.imported': facts('Workers were registered or changed; the subjects are their ids.', {
    created: countOrNone,
    updated: countOrNone,
  }),
  'workers.exported': facts('The data of a worker was exported.'),
  'workers.erased': facts('A worker was erased.', {
    reason: Type.Enum(['worker_request', 'no_longer_needed', 'unlawful', 'policy']),
    credentialsErased: countOrNone,
    evidenceErased: countOrNone,
    reportsErased: countOrNone,
  }),
  'consent.granted': facts('A consent of a worker was recorded.', { permission }),
  'consent.withdrawn': facts('The withdrawal of a consent was recorded.', { permission }),
  'consent.imported': facts(
    'Consents of workers were recorded; the subjects are the ids of the workers.',
    { granted: countOrNone, withdrawn: countOrNone },
  ),
  'identity.imported': facts(
    'Identity checks of workers were recorded; the subjects are the ids of the workers.',
    { verified: countOrNone, revoked: countOrNone },
  ),
  'identity.verified': facts('The identity check of a worker was recorded.'),
  'identity.revoked': facts('The identity check of a worker was revoked.'),
  'sources.registered': facts(
    'Sources of evidence were registered or changed.',
    { registered: countOrNone, changed: countOrNone },
    sourceId,
  ),
  'sources.suspended': facts(
    'A source was suspended: its evidence counts for nothing.',
    {},
    sourceId,
  ),
  'sources.resumed': facts(
    'A suspended source was resumed: its evidence counts again.',
    {},
    sourceId,
  ),
  'evidence.imported': facts('Evidence was imported; the subjects are the first and the last id.', {
    count,
  }),
  'reports.made': facts(
    'A report for auditors was made; the details say which one and how many rows.',
    {
      report: Type.Enum(['score-export', 'impact', 'sources', 'reliability']),
      rows: countOrNone,
    },
  ),
  'scores.marked': facts('All workers with evidence were marked to be scored again.', {
    count: countOrNone,
  }),
  'scores.recomputed': facts('Workers were scored; the subjects are the first and the last id.', {
    count,
    issued: countOrNone,
    reissued: countOrNone,
    withdrawn: countOrNone,
    unscorable: countOrNone,
  }),
  'engines.recalled': facts(
    'An engine was recalled; its `active` scores are computed again.',
    {
      version: Type.String({ pattern: '^[0-9]+(\\.[0-9]+){2}$' }),
      reason: Type.Enum(['wrong_result', 'wrong_algorithm', 'unfair', 'compromised']),
      active: countOrNone,
    },
    digest,
  ),
  'evidence.revoked': facts('Evidence was revoked; the subjects are its ids.', {
    reason: Type.Enum([
      'source_removed',
      'source_invalid',
      'worker_request',
      'dispute_upheld',
      'policy',
    ]),
  }),
  'evidence.reassigned': facts('Evidence was assigned to another worker.', {
    from: uuid,
    to: uuid,
    count,
  }),
  'disputes.opened': facts(
    'A dispute was opened; `excluded` items of evidence do not count until it ends.',
    {
      kind: Type.Enum(['score', 'evidence', 'identity']),
      restricted: Type.Boolean(),
      excluded: countOrNone,
    },
  ),
  'disputes.reviewed': facts('A dispute came under review.'),
  'disputes.resolved': facts('A dispute was resolved.', {
    resolution: Type.Enum(['upheld', 'partly_upheld', 'rejected']),
  }),
  'disputes.withdrawn': facts('A dispute was withdrawn; its excluded evidence counts again.'),
} as const
