/**
 * Workers with evidence, and the parts that score them: the engine of this release, a small
 * vocabulary and the vector's key.
 */
import assert from 'node:assert/strict'
import type { Issuer } from '../../../src/credentials/issue.ts'
import { sha256Hex } from '../../../src/platform/crypto/bytes.ts'
import { type Db, type Queryable, sql } from '../../../src/platform/db/db.ts'
import { bandOf } from '../../../src/scoring/core/parameters.ts'
import { ingestEvidence } from '../../../src/scoring/evidence/ingest-evidence.ts'
import type { EvidenceLine } from '../../../src/scoring/evidence/schema.ts'
import { type Engine, loadEngine } from '../../../src/scoring/scores/engine.ts'
import { type ScoredWorker, scoreWorkers } from '../../../src/scoring/scores/score-workers.ts'
import { type Scoring, scoringRulesOf } from '../../../src/scoring/scores/scoring.ts'
import type { DueWorker } from '../../../src/scoring/scores/scoring-inputs.ts'
import { addSource, smallVocabulary } from './evidence.ts'
import { issuer } from './registry.ts'
import { publicLine, register } from './workers.ts'

export const scoredAt = new Date('2026-05-14T09:00:00Z')

export function daysAfter(days: number, from = scoredAt): Date {
  return new Date(from.getTime() + days * 86_400_000)
}

const engine = await loadEngine()

export const scoring: Scoring = {
  ...scoringRulesOf(engine, smallVocabulary, { groupsMin: 2, renewAfterDays: 274 }),
  issuer,
}

/**
 * Scores like a release with a defective engine: the score is the low end of the confidence range.
 */
export function scoringWrongly(version = '0.9.0'): Scoring {
  const wrong: Engine = {
    ...engine,
    version,
    binarySha256: sha256Hex(`engine ${version}`),
    score(input) {
      const result = engine.score(input)
      return { ...result, score: result.low, band: result.low === null ? null : bandOf(result.low) }
    },
  }
  return { ...scoringRulesOf(wrong, scoring.vocabulary, scoring.issueRule), issuer }
}

export function scoringBy(by: Issuer): Scoring {
  return { ...scoring, issuer: by }
}

/**
 * Registers an accredited source, an organisation and a self-reporting source, each in its own
 * group. A score needs evidence from two groups.
 */
export async function addSources(db: Db): Promise<void> {
  await addSource(db)
  await addSource(db, { id: 'employer', name: 'The Employer', kind: 'organisation', group: 'acme' })
  await addSource(db, { id: 'self', name: 'Oneself', kind: 'self', group: 'self' })
}

let workers = 0

/**
 * Registers `count` workers and returns their ids. By default profile, search listing and score
 * sharing are public.
 */
export async function addPublicWorkers(
  db: Db,
  count: number,
  over: Record<string, unknown> = {},
): Promise<string[]> {
  const lines = Array.from({ length: count }, () => {
    const username = `worker-${++workers}`
    return publicLine({ username, externalId: `hr-${workers}`, ...over })
  })
  const registered = await register(db, lines)
  return registered.map((one) => {
    assert.ok('workerId' in one, JSON.stringify(one))
    return one.workerId
  })
}

let items = 0

/** Stores one evidence item for each element of `over` and returns the ids. */
export async function addEvidence(
  db: Db,
  workerId: string,
  over: readonly Partial<EvidenceLine>[],
  now = scoredAt,
): Promise<string[]> {
  const lines = over.map(
    (one): EvidenceLine => ({
      workerId,
      sourceId: 'examiner',
      externalId: `scored-${++items}`,
      skillId: 'hss:typescript',
      type: 'assessment',
      value: 700,
      observedOn: '2026-05-01',
      ...one,
    }),
  )
  const answers = await db.transaction((tx) =>
    ingestEvidence(tx, lines, { vocabulary: smallVocabulary, now }),
  )
  return answers.map((answer) => {
    assert.ok('evidenceId' in answer, JSON.stringify(answer))
    return answer.evidenceId
  })
}

/** Four items of two groups: any one of them can be revoked, and the score stays. */
export const enough: readonly Partial<EvidenceLine>[] = [
  { value: 820 },
  { value: 760, type: 'work_product' },
  { value: 640, sourceId: 'employer', type: 'work_product' },
  { value: 900, sourceId: 'employer', skillId: 'hss:welding', type: 'credential' },
]

/** Scores one worker. */
export async function score(
  db: Db,
  workerId: string,
  {
    at = scoredAt,
    by = scoring,
    correction = null,
  }: { at?: Date; by?: Scoring } & Partial<Pick<DueWorker, 'correction'>> = {},
): Promise<ScoredWorker | undefined> {
  const due = [{ workerId, correction }]
  const [scored] = await db.transaction((tx) => scoreWorkers(tx, by, due, at))
  return scored
}

export interface WorkerWithScore {
  workerId: string
  /** Ids of the evidence that the score uses, in the order of arrival. */
  evidence: string[]
}

/**
 * Registers a worker with the evidence `items` and scores it. By default everything about the
 * worker is public.
 */
export async function addScoredWorker(
  db: Db,
  {
    over = {},
    items = enough,
    by = scoring,
  }: {
    over?: Record<string, unknown>
    items?: readonly Partial<EvidenceLine>[]
    by?: Scoring
  } = {},
): Promise<WorkerWithScore> {
  const [workerId = ''] = await addPublicWorkers(db, 1, over)
  const evidence = await addEvidence(db, workerId, items)
  await score(db, workerId, { by })
  return { workerId, evidence }
}

/** Deletes every event of this worker. */
export async function forgetEvents(db: Db, workerId: string): Promise<void> {
  await db.run(sql`delete from webhook_events where worker_id = ${workerId}`)
}

export interface SentEvent {
  type: string
  data: Record<string, unknown>
}

/**
 * Returns the events of a worker that are not withheld, in the order of the outbox. Consent events
 * are left out.
 */
export async function eventsOf(db: Queryable, workerId: string): Promise<SentEvent[]> {
  const rows = await db.rows<{ body: string }>(sql`
    select body from webhook_events
    where worker_id = ${workerId} and type <> 'candidate.consent_changed' and withheld_at is null
    order by seq`)
  return rows.map(({ body }) => {
    const { type, data } = JSON.parse(body)
    return { type, data }
  })
}

export interface StoredScore {
  id: string
  state: string
  change: string
  reason: string | null
  previous: string | null
  score: number
  vc: string | null
  /** Null if the score has no credential or the credential is not revoked. */
  vcRevokedAt: Date | null
}

/** Returns every score of a worker, oldest first. */
export function scoresOf(db: Queryable, workerId: string): Promise<StoredScore[]> {
  return db.rows<StoredScore>(sql`
    select encode(s.snapshot_id, 'hex') as id, s.state, s.change, s.reason,
      encode(s.previous_id, 'hex') as previous, s.score, encode(s.vc_sha256, 'hex') as vc,
      c.revoked_at as "vcRevokedAt"
    from score_snapshots s left join score_credentials c on c.vc_sha256 = s.vc_sha256
    where s.worker_id = ${workerId} order by s.issued_at, s.ended_at`)
}

export async function isMarked(db: Queryable, workerId: string): Promise<boolean> {
  const rows = await db.rows(sql`select from score_recomputations where worker_id = ${workerId}`)
  return rows.length > 0
}
