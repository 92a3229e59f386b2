/** The operations on disputes of workers. */
import { type Static, Type } from 'typebox'
import {
  afterField,
  flagField,
  idField,
  limitField,
  madeId,
  nextField,
  orNull,
  pageOf,
  time,
} from '../../operations/fields.ts'
import { changed, operationsFor } from '../../operations/operation.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable, Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import type { Stored } from '../../platform/json/wire-object.ts'
import { renderFields } from '../../platform/render-fields.ts'
import { findWorkerFacts, findWorkerId } from '../../workers/api.ts'
import { unknownWorker, usernameField } from '../../workers/username.ts'
import {
  evidenceNameOf,
  evidenceNamesField,
  findNamedEvidence,
} from '../evidence/evidence-names.ts'
import type { Scoring } from '../scores/scoring.ts'
import { type Dispute, disputeKinds, type Ending, resolutions } from './dispute.ts'
import { endDispute } from './end-dispute.ts'
import { notTheirs, openDispute, reviewDispute, unknownDispute } from './open-dispute.ts'
import { findChanges, findDisputes, findLatestDisputeIds, findOpenDisputeIds } from './store.ts'

export interface DisputeServices {
  disputes: { hidesScore: boolean; dueDays: number }
  /** Refused if no score can be computed or signed on this machine. */
  scoring(db: Queryable): Promise<Scoring | Refusal<'scoring_unavailable'>>
}

const { read, change } = operationsFor<DisputeServices>()

const disputeId = idField('a dispute', 'disputes list')
const exampleId = '01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f'
const snapshotId = orNull(Type.String(), 'Id of the score, or null if there was none.')

const dispute = closedObject({
  id: Type.String(),
  workerId: Type.String(),
  kind: Type.Enum([...disputeKinds]),
  state: Type.Enum(['open', 'under_review', 'resolved', 'withdrawn']),
  resolution: orNull(Type.Enum([...resolutions]), 'Null until the dispute is resolved.'),
  restricted: Type.Boolean({ description: 'The score is hidden while the dispute is open.' }),
  snapshotId,
  resultingSnapshotId: snapshotId,
  openedAt: time,
  dueAt: time,
  endedAt: orNull(time, 'Null while the dispute is open.'),
  username: Type.String({ description: '"-" if the worker was erased.' }),
  overdue: Type.Boolean(),
  evidence: listOf({ evidenceId: Type.String(), excluded: Type.Boolean(), upheld: Type.Boolean() }),
})
type WireDispute = Static<typeof dispute>

function evidenceField(description: string) {
  return Type.Optional(evidenceNamesField(description))
}

export const disputesOpen = change({
  name: 'disputes open',
  http: 'POST /workers/{username}/disputes',
  summary: 'Open a dispute of a worker',
  who: { operator: 'support', ingest: true },
  path: { username: usernameField },
  input: {
    kind: Type.Enum([...disputeKinds], { description: disputeKinds.join(', ') }),
    evidence: evidenceField('the disputed items: evidence ids, or SOURCE/EXTERNAL-ID'),
    exclude: flagField('do not count the evidence until the dispute ends'),
    restrict: Type.Optional(
      Type.Boolean({
        description: 'hide the score until the dispute ends (default: DISPUTE_HIDES_SCORE)',
      }),
    ),
  },
  output: closedObject({ dispute: closedObject({ ...dispute.properties, id: madeId }) }),
  refusals: [
    'invalid_field',
    'worker_not_found',
    'score_absent',
    'evidence_not_theirs',
    'evidence_revoked',
    'dispute_already_open',
  ],
  example: {
    username: 'ada-lovelace',
    kind: 'evidence',
    evidence: ['acme-reviews/2026-117'],
    exclude: true,
  },
  audit: 'disputes.opened',
  renderLines({ dispute: { id, dueAt, username, restricted, evidence } }) {
    const excluded = evidence.filter((item) => item.excluded).length
    return [
      `Dispute ${id} is open, due ${dueAt}.`,
      restricted ? `The score of ${username} is hidden until it ends.` : 'The score stays public.',
      ...(excluded > 0
        ? [`Until then, the score leaves out ${counted(excluded, 'item')} of evidence.`]
        : []),
    ]
  },
  async run(tx, { username, kind, evidence: texts = [], exclude, restrict }, context) {
    const { now, by, services } = context
    const { hidesScore, dueDays } = services.disputes
    if (kind === 'evidence' && texts.length === 0)
      return refuse('invalid_field', { message: 'evidence must name the items of the dispute.' })
    if (kind !== 'evidence' && (texts.length > 0 || exclude))
      return refuse('invalid_field', {
        message: `${texts.length > 0 ? 'evidence' : 'exclude'} is for kind evidence.`,
      })
    const workerId = await findWorkerId(tx, username)
    if (workerId === null) return unknownWorker(username)
    const { ids: evidenceIds, unknown } = await findNamedEvidence(tx, texts.map(evidenceNameOf))
    if (unknown.length > 0) return notTheirs(username, unknown)
    const restricted = restrict ?? hidesScore
    const request = { workerId, kind, evidenceIds, restricted, exclude }
    const dueAt = new Date(now.getTime() + dueDays * 86_400_000)
    const opened = await openDispute(tx, request, { actor: by, now, dueAt })
    if ('refusal' in opened) return opened
    const [shown] = await disputeRows(tx, [opened], now)
    const excluded = opened.items.filter((item) => item.excluded).length
    return changed(
      { dispute: shown as WireDispute },
      { subjects: [opened.id], details: { kind, restricted, excluded } },
    )
  },
})

export const disputesReview = change({
  name: 'disputes review',
  http: 'POST /disputes/{disputeId}/review',
  summary: 'Record that the review of a dispute has begun',
  who: { operator: 'support' },
  path: { disputeId },
  output: closedObject({ disputeId: Type.String(), state: Type.Literal('under_review') }),
  refusals: ['dispute_not_found', 'dispute_state'],
  example: { disputeId: exampleId },
  audit: 'disputes.reviewed',
  when: (record) => Reflect.get(record, 'state') === 'open',
  renderLines: ({ disputeId: id }) => [`Dispute ${id} is under review.`],
  async run(tx, { disputeId: id }, { by, now }) {
    const reviewed = await reviewDispute(tx, id, { actor: by, now })
    if ('refusal' in reviewed) return reviewed
    return changed({ disputeId: id, state: 'under_review' }, { subjects: [id] })
  },
})

const ended = closedObject({
  disputeId: Type.String(),
  state: Type.Enum(['resolved', 'withdrawn']),
  ending: Type.Enum([...resolutions, 'withdrawn']),
  scoreChanged: Type.Boolean({
    description: 'Whether the active score differs from the one when the dispute was opened.',
  }),
  resultingSnapshotId: { ...snapshotId, 'x-made': true },
})
const endRefusals = [
  'dispute_not_found',
  'dispute_state',
  'dispute_decision',
  'scoring_unavailable',
] as const

function endedLines(dispute: Static<typeof ended>) {
  const { disputeId: id, ending, scoreChanged, resultingSnapshotId } = dispute
  return [
    `Dispute ${id}: ${ending}.`,
    scoreChanged
      ? `The score has changed: ${resultingSnapshotId ?? 'none'}.`
      : 'The score is the one that was disputed.',
  ]
}

export const disputesResolve = change({
  name: 'disputes resolve',
  http: 'POST /disputes/{disputeId}/resolve',
  summary: 'Decide a dispute that is under review, for ever',
  who: { operator: 'admin' },
  path: { disputeId },
  input: {
    as: Type.Enum([...resolutions], { description: resolutions.join(', ') }),
    evidence: evidenceField('the upheld items, if the dispute is partly upheld'),
  },
  output: ended,
  refusals: [...endRefusals, 'evidence_not_theirs'],
  example: { disputeId: exampleId, as: 'upheld' },
  audit: 'disputes.resolved',
  when: (record) => Reflect.get(record, 'state') === 'under_review',
  danger: 'The decision is final. If it is upheld, evidence and credentials are revoked.',
  renderLines: endedLines,
  async run(tx, { disputeId: id, as, evidence: texts = [] }, context) {
    const { ids: upheldIds, unknown } = await findNamedEvidence(tx, texts.map(evidenceNameOf))
    if (unknown.length > 0)
      return refuse('evidence_not_theirs', {
        message: `Dispute ${id}: no evidence has the name ${unknown.join(', ')}.`,
      })
    const end = await endNow(tx, { id, ending: as, upheldIds }, context)
    if ('refusal' in end) return end
    return changed({ ...end, state: 'resolved' } as const, {
      subjects: [id],
      details: { resolution: as },
    })
  },
})

export const disputesWithdraw = change({
  name: 'disputes withdraw',
  http: 'POST /disputes/{disputeId}/withdraw',
  summary: 'Record that the worker withdraws a dispute',
  who: { operator: 'support', ingest: true },
  path: { disputeId },
  output: ended,
  refusals: endRefusals,
  example: { disputeId: exampleId },
  audit: 'disputes.withdrawn',
  when: (record) => Reflect.get(record, 'endedAt') === null,
  danger: 'The dispute ends for ever, and its excluded evidence counts again.',
  renderLines: endedLines,
  async run(tx, { disputeId: id }, context) {
    const end = await endNow(tx, { id, ending: 'withdrawn', upheldIds: [] }, context)
    if ('refusal' in end) return end
    return changed({ ...end, state: 'withdrawn' } as const, { subjects: [id] })
  },
})

interface End {
  id: string
  ending: Ending
  upheldIds: readonly string[]
}

/** A score may follow from any end. If none can be computed here, the dispute stays as it is. */
async function endNow(
  tx: Tx,
  { id, ending, upheldIds }: End,
  { by, now, services }: { by: string; now: Date; services: DisputeServices },
) {
  const scoring = await services.scoring(tx)
  if ('refusal' in scoring)
    return { ...scoring, message: `${scoring.message} The dispute stays as it is.` }
  const decision = { disputeId: id, ending, upheldIds, actor: by, now }
  const end = await endDispute(tx, scoring, decision)
  if ('refusal' in end) return end
  const { scoreChanged, resultingSnapshotId } = end
  return { disputeId: id, ending, scoreChanged, resultingSnapshotId }
}

export const disputesList = read({
  name: 'disputes list',
  http: 'GET /disputes',
  summary: 'Show the open disputes, the earliest due first',
  who: { operator: 'viewer' },
  input: {
    all: flagField('the latest ones, ended ones too'),
    username: Type.Optional({ ...usernameField, 'x-help': 'all of this worker' }),
    limit: limitField,
    after: afterField,
  },
  output: closedObject({ disputes: Type.Array(dispute), next: nextField }),
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace', all: false, limit: 200 },
  none: 'There are no disputes.',
  columns: {
    due: 'dueAt',
    username: 'username',
    kind: ({ kind, evidence }) => (kind === 'evidence' ? `${kind} (${evidence.length})` : kind),
    state: stateText,
    score: scoreText,
    id: 'id',
  },
  async run(db, { all, username, limit, after = null }, { now }) {
    const workerId = username === undefined ? null : await findWorkerId(db, username)
    if (username !== undefined && workerId === null) return unknownWorker(username)
    const page = { workerId, after, limit: limit + 1 }
    const ids = await (all || workerId !== null ? findLatestDisputeIds : findOpenDisputeIds)(
      db,
      page,
    )
    const { rows, next } = pageOf(ids, limit, (id) => id)
    const byId = new Map((await findDisputes(db, rows)).map((one) => [one.id, one]))
    const found = rows.flatMap((id) => byId.get(id) ?? [])
    return { disputes: await disputeRows(db, found, now), next }
  },
})

function stateText({ resolution, state, overdue }: WireDispute): string {
  return `${resolution ?? state}${overdue ? ', overdue' : ''}`
}

function scoreText({ restricted, endedAt }: WireDispute): string {
  return restricted && endedAt === null ? 'hidden' : 'public'
}

const move = closedObject({ state: dispute.properties.state, at: time, by: Type.String() })

export const disputesShow = read({
  name: 'disputes show',
  http: 'GET /disputes/{disputeId}',
  summary: 'Show a dispute and its history',
  who: { operator: 'viewer' },
  path: { disputeId },
  output: closedObject({
    dispute: closedObject({ ...dispute.properties, moves: Type.Array(move) }),
  }),
  refusals: ['dispute_not_found'],
  example: { disputeId: exampleId },
  renderLines({ dispute: shown }) {
    const { id, username, kind, dueAt, endedAt, evidence, moves } = shown
    return [
      `${username}: dispute about ${kind}`,
      ...renderFields({
        id,
        state: stateText(shown),
        due: dueAt,
        score: scoreText(shown),
        'score then': shown.snapshotId ?? 'none',
        ...(endedAt !== null && { 'score after': shown.resultingSnapshotId ?? 'none' }),
      }),
      ...evidence.map(
        ({ evidenceId, excluded, upheld }) =>
          `  evidence ${evidenceId}${excluded ? ', excluded' : ''}${upheld ? ', upheld' : ''}`,
      ),
      ...moves.map(({ state, at, by }) => `  ${at}  ${state}, by ${by}`),
    ]
  },
  async run(db, { disputeId: id }, { now }) {
    const [shown] = await disputeRows(db, await findDisputes(db, [id]), now)
    if (shown === undefined) return unknownDispute(id)
    const changes = await findChanges(db, id)
    const moves = changes.map(({ state, changedAt: at, actor: by }) => ({ state, at, by }))
    return { dispute: { ...shown, moves } }
  },
})

async function disputeRows(
  db: Queryable,
  disputes: readonly Dispute[],
  now: Date,
): Promise<Stored<WireDispute>[]> {
  const workers = await findWorkerFacts(
    db,
    disputes.map(({ workerId }) => workerId),
  )
  const usernames = new Map(workers.map(({ workerId, username }) => [workerId, username]))
  return disputes.map((one) => ({
    ...one,
    username: usernames.get(one.workerId) ?? '-',
    overdue: one.endedAt === null && one.dueAt <= now,
    evidence: one.items,
  }))
}

/** In the order of the help. */
export const disputeOperations = [
  disputesOpen,
  disputesReview,
  disputesResolve,
  disputesWithdraw,
  disputesList,
  disputesShow,
] as const
