/**
 * The operations on evidence. They stand here and not in `evidence`, because each change also moves
 * scores and credentials, and disputes hold evidence where it is.
 */
import { type Static, Type } from 'typebox'
import {
  afterField,
  limitField,
  moreField,
  nextField,
  orNull,
  pageOf,
  time,
} from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable, Tx } from '../../platform/db/db.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import type { Stored } from '../../platform/json/wire-object.ts'
import { findWorkerFacts, findWorkerId } from '../../workers/api.ts'
import { unknownWorker, usernameField } from '../../workers/username.ts'
import {
  evidenceNameOf,
  evidenceNamesField,
  findNamedEvidence,
} from '../evidence/evidence-names.ts'
import { knownSources, unknownSource } from '../evidence/register-source.ts'
import { revocationReasons } from '../evidence/schema.ts'
import { sourceIdField } from '../evidence/source-operations.ts'
import { evidenceStates, findEvidencePage, findUnrevokedOfSource } from '../evidence/store.ts'
import { revokeAndRescore } from '../scores/revoke-evidence.ts'
import { effects, type ScoredWorker } from '../scores/score-workers.ts'
import type { DisputeServices } from './operations.ts'
import { reassignNamedEvidence } from './reassign-evidence.ts'

type EvidenceServices = Pick<DisputeServices, 'scoring'>

const { read, change } = operationsFor<EvidenceServices>()

const reason = Type.Enum([...revocationReasons], { description: revocationReasons.join(', ') })

/** An entry of the audit log names at most so many items. */
const subjectsMax = 256

const rescored = listOf({
  workerId: Type.String(),
  username: Type.String(),
  outcome: Type.Enum([...effects]),
  snapshotId: {
    ...orNull(Type.String(), 'Id of the score, or null if there is none.'),
    'x-made': true,
  },
})

async function rescoredRows(
  db: Queryable,
  scored: readonly ScoredWorker[],
): Promise<Stored<Static<typeof rescored>>> {
  const usernames = await usernamesOf(db, scored)
  return scored.map(({ workerId, effect, snapshot }) => ({
    workerId,
    username: usernames.get(workerId) ?? workerId,
    outcome: effect,
    snapshotId: snapshot?.snapshotId ?? null,
  }))
}

async function usernamesOf(
  db: Queryable,
  rows: readonly { workerId: string }[],
): Promise<Map<string, string>> {
  const ids = [...new Set(rows.map(({ workerId }) => workerId))]
  const workers = await findWorkerFacts(db, ids)
  return new Map(workers.map(({ workerId, username }) => [workerId, username]))
}

function scoreLines(scored: Static<typeof rescored>): string[] {
  return scored.map(({ username, outcome }) => `score of ${username}: ${outcome}`)
}

const notScored = Type.Optional(
  Type.String({ description: 'Why no score was computed now. The jobs process computes it.' }),
)

/** Without scoring, evidence and credentials are revoked, and the scores follow later. */
async function scoringIfAny(tx: Tx, { services }: { services: EvidenceServices }) {
  const scoring = await services.scoring(tx)
  return 'refusal' in scoring
    ? {
        scoring: null,
        left: { notScored: `${scoring.message} The scores are left to the next recomputation.` },
      }
    : { scoring, left: {} }
}

export const evidenceRevoke = change({
  name: 'evidence revoke',
  http: 'POST /evidence/revoke',
  summary: 'Revoke evidence for ever',
  who: { operator: 'support' },
  input: { evidence: evidenceNamesField('evidence ids, or SOURCE/EXTERNAL-ID'), reason },
  positional: ['evidence'],
  output: closedObject({
    revoked: Type.Array(Type.String()),
    alreadyRevoked: Type.Array(Type.String()),
    notFound: Type.Array(Type.String()),
    rescored,
    notScored,
  }),
  example: { evidence: ['acme-reviews/2026-117'], reason: 'source_invalid' },
  audit: 'evidence.revoked',
  danger: 'Revoked evidence never counts again, and the credentials of its scores are revoked.',
  renderLines: ({ revoked, alreadyRevoked, notFound, rescored: scored, notScored: why }) => [
    ...notFound.map((name) => `not found: ${name}`),
    `${revoked.length} revoked, ${alreadyRevoked.length} revoked before, ${notFound.length} not found`,
    ...scoreLines(scored),
    ...(why === undefined ? [] : [why]),
  ],
  async run(tx, { evidence, reason: why }, context) {
    const { scoring, left } = await scoringIfAny(tx, context)
    const { ids, unknown } = await findNamedEvidence(tx, evidence.map(evidenceNameOf))
    const revocation = { reason: why, actor: context.by, now: context.now }
    const { scored, ...answer } = await revokeAndRescore(tx, scoring, ids, revocation)
    const output = {
      ...answer,
      notFound: [...answer.notFound, ...unknown],
      rescored: await rescoredRows(tx, scored),
      ...left,
    }
    const entries = partsOf(answer.revoked).map((subjects) => ({
      subjects,
      details: { reason: why },
    }))
    return { output, entries }
  },
})

function partsOf(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / subjectsMax) }, (_, i) =>
    ids.slice(i * subjectsMax, (i + 1) * subjectsMax),
  )
}

/** A batch ends within the time limit of a statement and of an answer. */
const batchMax = 100

export const evidenceRevokeSource = change({
  name: 'evidence revoke-source',
  http: 'POST /sources/{sourceId}/evidence/revoke',
  summary: 'Revoke all evidence of a source for ever, in batches',
  who: { operator: 'support' },
  path: { sourceId: sourceIdField },
  input: { reason },
  output: closedObject({
    sourceId: Type.String(),
    revoked: Type.Integer(),
    rescored: Type.Integer({ description: 'Scores that were computed again.' }),
    notScored,
    more: moreField,
  }),
  refusals: ['source_not_found'],
  example: { sourceId: 'acme', reason: 'source_removed' },
  audit: 'evidence.revoked',
  danger: 'Revoked evidence never counts again, and the credentials of its scores are revoked.',
  renderLines: ({ sourceId, revoked, rescored: scored, notScored: why, more }) => [
    `${sourceId}: ${more === true ? 'at least ' : ''}${counted(revoked, 'item')} revoked, ${counted(scored, 'score')} computed again`,
    ...(why === undefined ? [] : [why]),
  ],
  async run(tx, { sourceId, reason: why }, context) {
    if (!(await knownSources(tx, [sourceId])).has(sourceId)) return unknownSource(sourceId)
    const { scoring, left } = await scoringIfAny(tx, context)
    const ids = await findUnrevokedOfSource(tx, sourceId, batchMax)
    const revocation = { reason: why, actor: context.by, now: context.now }
    const { revoked, scored } = await revokeAndRescore(tx, scoring, ids, revocation)
    const output = { sourceId, revoked: revoked.length, rescored: scored.length, ...left }
    const more = { more: ids.length === batchMax }
    if (revoked.length === 0) return unchanged(output, more)
    return changed(output, { subjects: revoked, details: { reason: why } }, more)
  },
})

const evidenceReassign = change({
  name: 'evidence reassign',
  http: 'POST /evidence/reassign',
  summary: 'Move evidence to the worker that it belongs to',
  who: { operator: 'support' },
  input: {
    evidence: Type.Optional(evidenceNamesField('evidence ids, or SOURCE/EXTERNAL-ID')),
    allOf: Type.Optional({
      ...usernameField,
      'x-help': 'all evidence of this worker, after a double registration',
    }),
    to: { ...usernameField, 'x-help': 'the worker that receives the evidence' },
  },
  positional: ['evidence'],
  output: closedObject({
    to: Type.String(),
    moved: listOf({ evidenceId: Type.String(), fromWorkerId: Type.String() }),
    rescored,
  }),
  refusals: [
    'invalid_field',
    'worker_not_found',
    'evidence_not_found',
    'evidence_revoked',
    'evidence_excluded',
    'evidence_disputed',
    'scoring_unavailable',
  ],
  example: { allOf: 'ada-l', to: 'ada-lovelace' },
  audit: 'evidence.reassigned',
  danger: 'Credentials of scores that counted the evidence are revoked.',
  renderLines: ({ to, moved, rescored: scored }) => [
    `${moved.length} reassigned to ${to}`,
    ...scoreLines(scored),
  ],
  async run(tx, { evidence, allOf, to }, { now, services }) {
    const what = allOf === undefined ? evidence?.map(evidenceNameOf) : { allOf }
    if (what === undefined || (evidence !== undefined && allOf !== undefined))
      return refuse('invalid_field', {
        message: 'evidence must name items, or allOf a worker, and not both.',
      })
    const scoring = await services.scoring(tx)
    if ('refusal' in scoring) return scoring
    const answer = await reassignNamedEvidence(tx, scoring, { what, to, now })
    if ('refusal' in answer) return answer
    const { moved, scored, toWorkerId } = answer
    const byWorker = Map.groupBy(moved, ({ fromWorkerId }) => fromWorkerId)
    const entries = [...byWorker].flatMap(([from, items]) =>
      partsOf(items.map(({ evidenceId }) => evidenceId)).map((subjects) => ({
        subjects,
        details: { from, to: toWorkerId, count: subjects.length },
      })),
    )
    return { output: { to, moved, rescored: await rescoredRows(tx, scored) }, entries }
  },
})

const item = closedObject({
  evidenceId: Type.String(),
  sourceId: Type.String(),
  externalId: Type.String(),
  workerId: Type.String(),
  username: Type.String(),
  skillId: Type.String(),
  type: Type.String(),
  value: Type.Integer(),
  observedOn: Type.String(),
  expiresOn: orNull(Type.String(), 'Null if it does not expire.'),
  state: Type.Enum([...evidenceStates]),
  stateAt: time,
  revokedReason: orNull(reason, 'Null unless it is revoked.'),
  revokedBy: orNull(Type.String(), 'Null unless it is revoked.'),
  ingestedAt: time,
})

export const evidenceList = read({
  name: 'evidence list',
  http: 'GET /evidence',
  summary: 'Show evidence in the order of its sources',
  who: { operator: 'viewer' },
  input: {
    source: Type.Optional({ ...sourceIdField, 'x-help': 'of this source' }),
    username: Type.Optional({ ...usernameField, 'x-help': 'of this worker' }),
    state: Type.Optional(
      Type.Enum([...evidenceStates], { description: evidenceStates.join(', ') }),
    ),
    limit: limitField,
    after: afterField,
  },
  output: closedObject({ evidence: Type.Array(item), next: nextField }),
  refusals: ['worker_not_found', 'source_not_found'],
  example: { source: 'acme-reviews', state: 'active', limit: 200 },
  none: 'There is no such evidence.',
  columns: {
    evidence: ({ sourceId, externalId }) => `${sourceId}/${externalId}`,
    username: 'username',
    skill: 'skillId',
    type: 'type',
    value: 'value',
    observed: 'observedOn',
    state: ({ state, revokedReason }) =>
      revokedReason === null ? state : `${state}, ${revokedReason}`,
    id: 'evidenceId',
  },
  async run(db, { source = null, username, state = null, limit, after = null }) {
    const workerId = username === undefined ? null : await findWorkerId(db, username)
    if (username !== undefined && workerId === null) return unknownWorker(username)
    if (source !== null && !(await knownSources(db, [source])).has(source))
      return unknownSource(source)
    const filter = { sourceId: source, workerId, state, after, limit: limit + 1 }
    const { rows, next } = pageOf(
      await findEvidencePage(db, filter),
      limit,
      (one) => one.evidenceId,
    )
    const usernames = await usernamesOf(db, rows)
    return {
      evidence: rows.map((one) => ({ ...one, username: usernames.get(one.workerId) ?? '-' })),
      next,
    }
  },
})

/** In the order of the help. `evidence import` reads files and is written by hand. */
export const evidenceOperations = [
  evidenceList,
  evidenceReassign,
  evidenceRevoke,
  evidenceRevokeSource,
] as const
