/**
 * Pure: all event types, one row each: meaning, data and an example. Schemas, contract, validation
 * and published files are derived from this table. Data holds only ids, numbers and words of closed
 * lists: no free text, no email address and no content of evidence.
 */
import { type Static, type TObject, Type } from 'typebox'
import { closedObject } from '../../platform/json/closed-object.ts'
import { count, digest, flag, oneOf, orNull, points, time, uuid } from './fields.ts'

interface EventFacts<Data extends TObject = TObject> {
  /** Name of the type in schemas. */
  title: string
  meaning: string
  data: Data
  example: Static<Data>
}

function facts<Data extends TObject>(row: EventFacts<Data>): EventFacts<Data> {
  return row
}

const workerId = uuid('The worker of the event.')

const newScore = {
  workerId,
  snapshotId: digest('The score as computed; the id of the public score.'),
  score: points('From 0 to 1000.'),
  confidenceLow: points('The low end of the range around the score.'),
  confidenceHigh: points('The high end of the range around the score.'),
  evidenceCount: count('How many items of evidence count.'),
  sourceCount: count('How many independent groups of sources they come from.'),
  scoreVcSha256: digest("SHA-256 of the payload of the score's credential."),
  scoreVcStatusToken: digest("Asks for the status of the score's credential."),
  issuedAt: time('When score and credential were issued.'),
}

const disputed = {
  workerId,
  disputeId: uuid('The dispute.'),
  kind: oneOf(['score', 'evidence', 'identity'], 'The subject of the dispute.'),
  snapshotId: orNull(digest('The score at that time. Null if there was none.')),
  restricted: flag('Whether the score is not shown while the dispute is open.'),
  openedAt: time('When the dispute was opened.'),
}

const slug = { maxLength: 64, pattern: '^[a-z0-9_-]+$' }

const worker = '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f'
const dispute = '5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f'
const snapshot = '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4'
const earlierSnapshot = 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9'
const exampleScore = {
  workerId: worker,
  snapshotId: snapshot,
  score: 742,
  confidenceLow: 701,
  confidenceHigh: 778,
  evidenceCount: 18,
  sourceCount: 5,
  scoreVcSha256: '5198254e5730f1642c3bdf23cb57b7d642ca869c92dd949a88e491e661d8f2a2',
  scoreVcStatusToken: '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62',
  issuedAt: '2026-05-14T09:00:00Z',
}
const earlierVcSha256 = 'bd0fc1266ac1f48f7265bf16d3c679b0bbbe7aa6827cda44b530f18589a457a7'
const earlierStatusToken = '3c945784d4dec9fd8e3011738b2f1d621a7674eb4ee78df7e1ac439a93c3fa8e'
const exampleDispute = {
  workerId: worker,
  disputeId: dispute,
  kind: 'evidence',
  snapshotId: earlierSnapshot,
  restricted: true,
  openedAt: '2026-05-12T14:30:00Z',
} as const

/** In the order in which the contract lists them. */
export const eventTypes = {
  'score.updated': facts({
    title: 'ScoreUpdated',
    meaning: 'A worker score has a new issued value.',
    data: closedObject(newScore, { title: 'ScoreUpdatedData', description: 'A new score.' }),
    example: exampleScore,
  }),
  'score.revised': facts({
    title: 'ScoreRevised',
    meaning:
      'A previously issued score was corrected or replaced: the earlier value was wrong, and its credential is revoked.',
    data: closedObject(
      {
        ...newScore,
        previousSnapshotId: digest('The score that it replaces.'),
        previousScore: points('The value of the replaced score.'),
        previousScoreVcSha256: orNull(
          digest('The credential of the replaced score. Null if it had none.'),
        ),
        previousScoreVcStatusToken: orNull(
          digest(
            'Asks for the status of the credential of the replaced score. Null if it had none.',
          ),
        ),
        reason: oneOf(
          [
            'correction',
            'evidence_revoked',
            'dispute_upheld',
            'engine_correction',
            'identity_change',
          ],
          'The cause of the revision: a correction, revoked evidence, an upheld dispute, a recalled engine, or evidence of another worker.',
        ),
        disputeId: orNull(uuid('The dispute that led to the revision. Null if none did.')),
        revisedAt: time('When it was revised.'),
      },
      { title: 'ScoreRevisedData', description: 'A score that replaces a wrong one.' },
    ),
    example: {
      ...exampleScore,
      previousSnapshotId: earlierSnapshot,
      previousScore: 781,
      previousScoreVcSha256: earlierVcSha256,
      previousScoreVcStatusToken: earlierStatusToken,
      reason: 'dispute_upheld',
      disputeId: dispute,
      revisedAt: '2026-05-14T09:00:00Z',
    },
  }),
  'evidence.revoked': facts({
    title: 'EvidenceRevoked',
    meaning: 'A source record was removed from the active evidence set.',
    data: closedObject(
      {
        workerId,
        evidenceId: uuid('The record.'),
        evidenceType: Type.String({ ...slug, description: 'Its type, a word of the vocabulary.' }),
        skillIds: Type.Array(Type.String({ maxLength: 68, pattern: '^hss:[a-z0-9-]+$' }), {
          minItems: 1,
          maxItems: 100,
          uniqueItems: true,
          description: 'The skills it spoke for.',
        }),
        reason: oneOf(
          ['source_removed', 'source_invalid', 'worker_request', 'dispute_upheld', 'policy'],
          'Why it was removed.',
        ),
        evidenceCount: count('How many items of evidence still count.'),
        sourceCount: count('How many independent groups of sources they come from.'),
        snapshotId: orNull(
          digest(
            'A score that the record was part of; one event for each. Null if there was none.',
          ),
        ),
        scoreVcSha256: orNull(digest('The credential of that score. Null if it had none.')),
        scoreVcStatusToken: orNull(
          digest('Asks for the status of the credential of that score. Null if it had none.'),
        ),
        revokedAt: time('When it was removed.'),
      },
      { title: 'EvidenceRevokedData', description: 'A record that no longer counts.' },
    ),
    example: {
      workerId: worker,
      evidenceId: 'c7d1e2f3-4a5b-4c6d-8e7f-9a0b1c2d3e4f',
      evidenceType: 'work_product',
      skillIds: ['hss:typescript'],
      reason: 'source_invalid',
      evidenceCount: 18,
      sourceCount: 5,
      snapshotId: earlierSnapshot,
      scoreVcSha256: earlierVcSha256,
      scoreVcStatusToken: earlierStatusToken,
      revokedAt: '2026-05-14T09:00:00Z',
    },
  }),
  'dispute.opened': facts({
    title: 'DisputeOpened',
    meaning: 'A worker opened a review or score dispute.',
    data: closedObject(disputed, {
      title: 'DisputeOpenedData',
      description: 'A dispute that was opened.',
    }),
    example: { ...exampleDispute, openedAt: '2026-05-14T09:00:00Z' },
  }),
  'dispute.resolved': facts({
    title: 'DisputeResolved',
    meaning: 'A dispute reached a terminal decision.',
    data: closedObject(
      {
        ...disputed,
        resolution: oneOf(['upheld', 'partly_upheld', 'rejected', 'withdrawn'], 'How it ended.'),
        scoreChanged: flag('Whether the score is another one now.'),
        resultingSnapshotId: orNull(digest('The score after the decision. Null if there is none.')),
        resolvedAt: time('When it ended.'),
      },
      { title: 'DisputeResolvedData', description: 'A dispute that was decided.' },
    ),
    example: {
      ...exampleDispute,
      resolution: 'upheld',
      scoreChanged: true,
      resultingSnapshotId: snapshot,
      resolvedAt: '2026-05-14T09:00:00Z',
    },
  }),
  'candidate.consent_changed': facts({
    title: 'ConsentChanged',
    meaning: 'A candidate sharing permission changed.',
    data: closedObject(
      {
        workerId,
        permission: oneOf(
          ['public_profile', 'search_listing', 'score_sharing'],
          'The permission that changed.',
        ),
        granted: flag('Whether it is granted now.'),
        previousGranted: orNull(
          flag('Whether the permission was granted before. Null if it was undecided.'),
        ),
        consentVersion: Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Rises with each change of any permission of the worker.',
        }),
        effectiveAt: time('From when it holds.'),
      },
      { title: 'ConsentChangedData', description: 'A permission that changed.' },
    ),
    example: {
      workerId: worker,
      permission: 'search_listing',
      granted: false,
      previousGranted: true,
      consentVersion: 4,
      effectiveAt: '2026-05-14T09:00:00Z',
    },
  }),
}

export type EventType = keyof typeof eventTypes
export type EventData<Type extends EventType> = Static<(typeof eventTypes)[Type]['data']>

export const eventTypeNames = Object.keys(eventTypes) as EventType[]
