/**
 * SQL of the tables `score_snapshots`, `score_workings`, `scoring_vocabularies` and
 * `score_evaluations`.
 */
import { fragment, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { ActiveSnapshot, EarlierSnapshot, NewSnapshot } from './snapshot.ts'

/** Columns of score `s` for a `Snapshot`. */
export const snapshotColumns = fragment`
  s.snapshot_id as "snapshotId", s.worker_id as "workerId", s.engine_version as "engineVersion",
  s.engine_sha256 as "engineSha256", s.score, s.confidence_low as low, s.confidence_high as high, s.band,
  s.evidence_count as "evidenceCount", s.source_count as "sourceCount", s.issued_at as "issuedAt",
  s.vc_sha256 as "vcSha256", s.status_token as "statusToken"`

/**
 * Returns the active scores. Under the workers' locks they stay the same until the transaction
 * ends.
 */
export function findActiveSnapshots(
  db: Queryable,
  workerIds: readonly string[],
): Promise<ActiveSnapshot[]> {
  return db.rows<ActiveSnapshot>(sql`
    select ${snapshotColumns}, w.evidence
    from score_snapshots s join score_workings w on w.snapshot_id = s.snapshot_id
    where s.worker_id = any(${workerIds}::uuid[]) and s.state = 'active'`)
}

/** Returns those of the workers that have an active score. */
export async function findScored(
  db: Queryable,
  workerIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db.rows<{ workerId: string }>(sql`
    select worker_id as "workerId" from score_snapshots
    where worker_id = any(${workerIds}::uuid[]) and state = 'active'`)
  return new Set(rows.map(({ workerId }) => workerId))
}

/**
 * Inserts active scores with the inputs that recompute them. Their vocabulary and credentials are
 * stored already, and their workers have no active score.
 */
export async function insertSnapshots(tx: Tx, rows: readonly NewSnapshot[]): Promise<void> {
  const column = <Name extends keyof NewSnapshot>(name: Name) => rows.map((row) => row[name])
  await tx.run(sql`
    insert into score_snapshots (snapshot_id, worker_id, previous_id, state, change, reason, dispute_id,
      as_of, engine_id, engine_version, engine_sha256, vocabulary_sha256, evidence_root, score,
      confidence_low, confidence_high, band, evidence_count, source_count, issued_at, vc_sha256,
      status_token)
    select id, worker, previous, 'active', change, reason, dispute, as_of, engine, version, engine_sha,
      vocabulary, root, score, low, high, band, items, sources, issued_at, vc, token
    from unnest(${column('snapshotId')}::bytea[], ${column('workerId')}::uuid[],
      ${column('previousId')}::bytea[], ${column('change')}::text[], ${column('reason')}::text[],
      ${column('disputeId')}::uuid[], ${column('asOf')}::date[], ${column('engineId')}::text[],
      ${column('engineVersion')}::text[], ${column('engineSha256')}::bytea[],
      ${column('vocabularySha256')}::bytea[], ${column('evidenceRoot')}::bytea[],
      ${column('score')}::smallint[], ${column('low')}::smallint[], ${column('high')}::smallint[],
      ${column('band')}::text[], ${column('evidenceCount')}::int[], ${column('sourceCount')}::int[],
      ${column('issuedAt')}::timestamptz[], ${column('vcSha256')}::bytea[],
      ${column('statusToken')}::bytea[])
      as new(id, worker, previous, change, reason, dispute, as_of, engine, version, engine_sha,
        vocabulary, root, score, low, high, band, items, sources, issued_at, vc, token)`)
  await tx.run(sql`
    insert into score_workings (snapshot_id, nonce, evidence, result)
    select * from unnest(${column('snapshotId')}::bytea[], ${column('nonce')}::bytea[],
      ${column('evidence')}::text[], ${column('result')}::text[])`)
}

interface EndedSnapshot {
  snapshotId: Buffer
  to: 'superseded' | 'withdrawn'
}

/** The caller holds the workers' locks. */
export async function endSnapshots(
  tx: Tx,
  ended: readonly EndedSnapshot[],
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update score_snapshots s set state = new.state, ended_at = ${now}
    from unnest(${ended.map(({ snapshotId }) => snapshotId)}::bytea[],
      ${ended.map(({ to }) => to)}::text[]) as new(id, state)
    where s.snapshot_id = new.id`)
}

interface SnapshotCredential {
  snapshotId: Buffer
  vcSha256: Buffer
  statusToken: Buffer
}

/** The caller holds the workers' locks. */
export async function setCredentials(tx: Tx, rows: readonly SnapshotCredential[]): Promise<void> {
  await tx.run(sql`
    update score_snapshots s set vc_sha256 = new.vc, status_token = new.token
    from unnest(${rows.map((row) => row.snapshotId)}::bytea[],
      ${rows.map((row) => row.vcSha256)}::bytea[], ${rows.map((row) => row.statusToken)}::bytea[])
      as new(id, vc, token)
    where s.snapshot_id = new.id`)
}

/** Removes the credentials from the active scores. The caller holds the workers' locks. */
export async function clearCredentials(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`
    update score_snapshots set vc_sha256 = null, status_token = null
    where worker_id = any(${workerIds}::uuid[]) and state = 'active'`)
}

interface WorkerCredential {
  workerId: string
  /** Null only for an active score without a credential. */
  vcSha256: Buffer | null
  active: boolean
}

/** Returns the credentials of all scores that these workers have or had. */
export function findWorkerCredentials(
  db: Queryable,
  workerIds: readonly string[],
): Promise<WorkerCredential[]> {
  return db.rows<WorkerCredential>(sql`
    select worker_id as "workerId", vc_sha256 as "vcSha256", state = 'active' as active
    from score_snapshots
    where worker_id = any(${workerIds}::uuid[]) and (vc_sha256 is not null or state = 'active')`)
}

/** Returns the workers whose scores have these credentials. */
export async function findCredentialWorkers(
  db: Queryable,
  vcSha256s: readonly Buffer[],
): Promise<string[]> {
  const rows = await db.rows<{ workerId: string }>(sql`
    select distinct worker_id as "workerId" from score_snapshots
    where vc_sha256 = any(${vcSha256s}::bytea[])`)
  return rows.map(({ workerId }) => workerId)
}

/** Returns the scores of these workers that ended and had a credential, the latest first. */
export function findEarlierSnapshots(
  db: Queryable,
  workerIds: readonly string[],
): Promise<EarlierSnapshot[]> {
  return db.rows<EarlierSnapshot>(sql`
    select ${snapshotColumns}, w.evidence
    from score_snapshots s join score_workings w on w.snapshot_id = s.snapshot_id
    where s.worker_id = any(${workerIds}::uuid[]) and s.state <> 'active'
      and s.vc_sha256 is not null
    order by s.ended_at desc, s.issued_at desc`)
}

/** Stores the vocabulary of scores, unless it is stored already. */
export async function keepVocabulary(
  tx: Tx,
  { sha256, rules }: { sha256: Buffer; rules: string },
  now: Date,
): Promise<void> {
  await tx.run(sql`
    insert into scoring_vocabularies (vocabulary_sha256, rules, first_used_at)
    values (${sha256}, ${rules}, ${now})
    on conflict do nothing`)
}

interface Evaluation {
  workerId: string
  /** `YYYY-MM-DD`: the day of the withdrawal, if it comes before the next evaluation. */
  endsOn: string | null
}

/**
 * Records the time and the rules of an evaluation. Rows are written in order of worker id, against
 * deadlocks.
 */
export async function markEvaluated(
  tx: Tx,
  evaluations: readonly Evaluation[],
  { rulesSha256, now }: { rulesSha256: Buffer; now: Date },
): Promise<void> {
  await tx.run(sql`
    insert into score_evaluations (worker_id, evaluated_at, rules_sha256, ends_on)
    select id, ${now}::timestamptz, ${rulesSha256}::bytea, ends_on
    from unnest(${evaluations.map(({ workerId }) => workerId)}::uuid[],
      ${evaluations.map(({ endsOn }) => endsOn)}::date[]) as new(id, ends_on)
    order by id
    on conflict (worker_id) do update set evaluated_at = excluded.evaluated_at,
      rules_sha256 = excluded.rules_sha256, ends_on = excluded.ends_on`)
}

/**
 * Returns workers last evaluated before `before`, the longest unevaluated first, and workers whose
 * score ends on `today` or ended before.
 */
export async function findEvaluationsDue(
  db: Queryable,
  { before, today, limit }: { before: Date; today: string; limit: number },
): Promise<string[]> {
  const rows = await db.rows<{ workerId: string }>(sql`
    (select worker_id as "workerId" from score_evaluations
      where evaluated_at < ${before} order by evaluated_at limit ${limit})
    union
    (select worker_id from score_evaluations
      where ends_on <= ${today}::date order by ends_on limit ${limit})`)
  return rows.map(({ workerId }) => workerId)
}

/** Returns workers last evaluated under other rules, in order of id, after the id `after`. */
export async function findEvaluatedUnderOthers(
  db: Queryable,
  rulesSha256: Buffer,
  { after, limit }: { after: string | null; limit: number },
): Promise<string[]> {
  const from = after ?? '00000000-0000-0000-0000-000000000000'
  const rows = await db.rows<{ workerId: string }>(sql`
    select worker_id as "workerId" from score_evaluations
    where worker_id > ${from} and rules_sha256 <> ${rulesSha256}
    order by worker_id limit ${limit}`)
  return rows.map(({ workerId }) => workerId)
}
