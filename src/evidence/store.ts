/** All SQL of sources, source_changes, evidence, evidence_private and score_recomputations. */
import { type Queryable, sql, type Tx } from '../platform/db.ts'
import type { Evidence } from '../scoring-core/evidence.ts'
import type { BadgeSigner } from './open-badge.ts'
import type { RevocationReason } from './schema.ts'
import type { Source } from './source-line.ts'

export interface RegisteredSource extends Source {
  registeredAt: Date
  changedAt: Date
}

/** All of them, by id. */
export function findSources(db: Queryable): Promise<RegisteredSource[]> {
  return db.rows<RegisteredSource>(sql`
    select source_id as id, name, kind, assurance, independence_group as "group", issuer,
      public_keys as "publicKeys", registered_at as "registeredAt", changed_at as "changedAt"
    from sources order by source_id`)
}

/** Under its lock: changes of one source wait for each other. */
export async function lockSource(tx: Tx, id: string): Promise<Source | undefined> {
  const [source] = await tx.rows<Source>(sql`
    select source_id as id, name, kind, assurance, independence_group as "group", issuer,
      public_keys as "publicKeys"
    from sources where source_id = ${id} for no key update`)
  return source
}

/** False where another transaction was faster. */
export async function insertSource(tx: Tx, source: Source, now: Date): Promise<boolean> {
  const { id, name, kind, assurance, group, issuer, publicKeys } = source
  const inserted = await tx.run(sql`
    insert into sources (source_id, name, kind, assurance, independence_group, issuer, public_keys,
      registered_at, changed_at)
    values (${id}, ${name}, ${kind}, ${assurance}, ${group}, ${issuer}, ${publicKeys}, ${now}, ${now})
    on conflict do nothing`)
  return inserted === 1
}

export async function updateSource(tx: Tx, source: Source, now: Date): Promise<void> {
  const { id, name, kind, assurance, group, issuer, publicKeys } = source
  await tx.run(sql`
    update sources set name = ${name}, kind = ${kind}, assurance = ${assurance},
      independence_group = ${group}, issuer = ${issuer}, public_keys = ${publicKeys},
      changed_at = ${now}
    where source_id = ${id}`)
}

/** What the source is from now on. Called under its lock. */
export async function insertSourceChange(
  tx: Tx,
  source: Source,
  { actor, now }: { actor: string; now: Date },
): Promise<void> {
  const { id, name, kind, assurance, group, issuer, publicKeys } = source
  await tx.run(sql`
    insert into source_changes (source_id, number, changed_at, actor, name, kind, assurance,
      independence_group, issuer, public_keys)
    select ${id}::text, coalesce(max(number), 0) + 1, ${now}::timestamptz, ${actor}::text,
      ${name}::text, ${kind}::text, ${assurance}::integer, ${group}::text, ${issuer}::text,
      ${publicKeys}::text[]
    from source_changes where source_id = ${id}`)
}

/** Those of `ids` that are registered, and whom to believe their badges. */
export async function knownSources(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, BadgeSigner>> {
  const rows = await db.rows<BadgeSigner & { id: string }>(sql`
    select source_id as id, issuer, public_keys as "publicKeys"
    from sources where source_id = any(${ids}::text[])`)
  return new Map(rows.map((row) => [row.id, row]))
}

export interface EvidenceRow {
  evidenceId: string
  workerId: string
  sourceId: string
  externalId: string
  skillId: string
  type: string
  value: number
  /** `YYYY-MM-DD`. */
  observedOn: string
  /** `YYYY-MM-DD`: the first day on which it counts no more. Null where it does not expire. */
  expiresOn: string | null
  /** SHA-256. */
  digest: Buffer
  ingestedAt: Date
  state: 'active' | 'expired'
}

/**
 * Inserts what has no row under its source's name yet, and gives the ids of what it inserted. In the order of these names, so that two
 * imports of one file wait for each other instead of deadlocking.
 */
export async function insertEvidence(tx: Tx, rows: readonly EvidenceRow[]): Promise<Set<string>> {
  const column = <Name extends keyof EvidenceRow>(name: Name) => rows.map((row) => row[name])
  const inserted = await tx.rows<{ id: string }>(sql`
    insert into evidence (evidence_id, worker_id, source_id, external_id, skill_id, type, value,
      observed_on, expires_on, digest, ingested_at, state, state_at)
    select id, worker, source, external, skill, type, value, observed, expires, digest, at, state, at
    from unnest(${column('evidenceId')}::uuid[], ${column('workerId')}::uuid[],
      ${column('sourceId')}::text[], ${column('externalId')}::text[], ${column('skillId')}::text[],
      ${column('type')}::text[], ${column('value')}::int[], ${column('observedOn')}::date[],
      ${column('expiresOn')}::date[], ${column('digest')}::bytea[],
      ${column('ingestedAt')}::timestamptz[], ${column('state')}::text[])
      as new(id, worker, source, external, skill, type, value, observed, expires, digest, at, state)
    order by source, external
    on conflict (source_id, external_id) do nothing
    returning evidence_id as id`)
  return new Set(inserted.map(({ id }) => id))
}

export interface PrivateRow {
  evidenceId: string
  /** Canonical JSON. */
  payload: string
}

export async function insertPrivate(tx: Tx, rows: readonly PrivateRow[]): Promise<void> {
  await tx.run(sql`
    insert into evidence_private (evidence_id, payload)
    select * from unnest(${rows.map((row) => row.evidenceId)}::uuid[], ${rows.map((row) => row.payload)}::text[])`)
}

export interface StoredEvidence {
  evidenceId: string
  workerId: string
  sourceId: string
  externalId: string
  skillId: string
  type: string
  value: number
  observedOn: string
  expiresOn: string | null
  digest: Buffer
  /** Null where it has none, or it was erased. */
  payload: string | null
  isErased: boolean
}

/** What the sources have sent under these names before, with what is private. */
export function findEvidenceByName(
  db: Queryable,
  names: readonly { sourceId: string; externalId: string }[],
): Promise<StoredEvidence[]> {
  return db.rows<StoredEvidence>(sql`
    select e.evidence_id as "evidenceId", e.worker_id as "workerId", e.source_id as "sourceId",
      e.external_id as "externalId", e.skill_id as "skillId", e.type, e.value,
      to_char(e.observed_on, 'YYYY-MM-DD') as "observedOn",
      to_char(e.expires_on, 'YYYY-MM-DD') as "expiresOn", e.digest, p.payload,
      p.evidence_id is not null and p.payload is null as "isErased"
    from unnest(${names.map((name) => name.sourceId)}::text[],
      ${names.map((name) => name.externalId)}::text[]) as asked(source, external)
    join evidence e on e.source_id = asked.source and e.external_id = asked.external
    left join evidence_private p on p.evidence_id = e.evidence_id`)
}

export interface WorkerEvidence extends Required<Omit<Evidence, 'excluded'>> {
  workerId: string
  state: EvidenceState
}

/**
 * All evidence of these workers, as its sources stand now: nothing that is private, and nothing about the person. The engine is given
 * what is active.
 */
export function findWorkerEvidence(
  db: Queryable,
  workerIds: readonly string[],
): Promise<WorkerEvidence[]> {
  return db.rows<WorkerEvidence>(sql`
    select e.worker_id as "workerId", e.evidence_id as id, e.skill_id as "skillId", e.type,
      s.independence_group as "group", s.assurance, e.value,
      e.observed_on - date '1970-01-01' as "observedDay", encode(e.digest, 'hex') as digest,
      e.state
    from evidence e join sources s on s.source_id = e.source_id
    where e.worker_id = any(${workerIds}::uuid[])
    order by e.worker_id, e.evidence_id`)
}

export type EvidenceState = 'active' | 'excluded' | 'revoked' | 'expired'

export interface EvidenceInState {
  evidenceId: string
  workerId: string
  state: EvidenceState
}

/** Under their locks, in the order of ids. Ids that are not there are left out. */
export function lockEvidence(tx: Tx, ids: readonly string[]): Promise<EvidenceInState[]> {
  return tx.rows<EvidenceInState>(sql`
    select evidence_id as "evidenceId", worker_id as "workerId", state
    from evidence where evidence_id = any(${ids}::uuid[])
    order by evidence_id for no key update`)
}

/** What would be active, but whose last day has passed meanwhile, is expired. Called under the locks of the rows. */
export async function moveEvidence(
  tx: Tx,
  ids: readonly string[],
  move: { to: 'active' | 'excluded'; now: Date },
): Promise<void> {
  await tx.run(sql`
    update evidence set state_at = ${move.now},
      state = case when ${move.to} = 'active'
        and expires_on <= (${move.now}::timestamptz at time zone 'UTC')::date
        then 'expired' else ${move.to} end
    where evidence_id = any(${ids}::uuid[])`)
}

/** Called under the locks of the rows. */
export async function markEvidenceRevoked(
  tx: Tx,
  ids: readonly string[],
  { reason, actor, now }: { reason: RevocationReason; actor: string; now: Date },
): Promise<void> {
  await tx.run(sql`
    update evidence set state = 'revoked', state_at = ${now}, revoked_reason = ${reason}, revoked_by = ${actor}
    where evidence_id = any(${ids}::uuid[])`)
}

/** At most `limit` items whose last day is over; skips what another transaction holds. Gives their workers. */
export async function expireEvidence(tx: Tx, now: Date, limit: number): Promise<string[]> {
  const expired = await tx.rows<{ workerId: string }>(sql`
    with due as (
      select evidence_id from evidence
      where state = 'active' and expires_on <= (${now}::timestamptz at time zone 'UTC')::date
      order by expires_on limit ${limit} for no key update skip locked
    )
    update evidence e set state = 'expired', state_at = ${now}
    from due where e.evidence_id = due.evidence_id
    returning e.worker_id as "workerId"`)
  return expired.map(({ workerId }) => workerId)
}

export type RecomputationReason =
  | 'evidence_added'
  | 'evidence_revoked'
  | 'evidence_excluded'
  | 'evidence_restored'
  | 'evidence_expired'
  | 'source_changed'
  | 'sharing_allowed'
  | 'rules_changed'
  | 'evaluation_due'
  | 'operator'
  | 'engine_recalled'

/**
 * The scores of these workers no longer follow from their evidence. A row that is there already keeps its time and reason, and is
 * locked all the same: whoever takes it waits until this change can be read. In the order of ids, against deadlocks.
 */
export async function markForRecomputation(
  tx: Tx,
  workerIds: Iterable<string>,
  { reason, now }: { reason: RecomputationReason; now: Date },
): Promise<void> {
  const ids = [...new Set(workerIds)]
  if (ids.length === 0) return
  await tx.run(sql`
    insert into score_recomputations as due (worker_id, since, reason)
    select id, ${now}::timestamptz, ${reason}::text from unnest(${ids}::uuid[]) as id order by id
    on conflict (worker_id) do update set since = due.since`)
}

/** As `markForRecomputation`, for everybody who has evidence of the source. */
export async function markWorkersOfSource(tx: Tx, sourceId: string, now: Date): Promise<void> {
  await tx.run(sql`
    insert into score_recomputations as due (worker_id, since, reason)
    select distinct worker_id, ${now}::timestamptz, 'source_changed' from evidence
    where source_id = ${sourceId} order by worker_id
    on conflict (worker_id) do update set since = due.since`)
}

/**
 * The longest waiting workers, at most `limit`, under the locks of their marks; skips what another transaction holds. Whoever deletes the
 * marks and reads the evidence in a later statement of the same transaction misses nothing: every change is either in what is read or
 * marks its worker again.
 */
export async function lockRecomputations(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select worker_id as "workerId" from score_recomputations
    order by since limit ${limit} for update skip locked`)
  return rows.map(({ workerId }) => workerId)
}

/** Waits for whoever is marking one of them. In the order of ids, as marking is. */
export async function deleteRecomputations(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`
    delete from score_recomputations where worker_id in (
      select worker_id from score_recomputations where worker_id = any(${workerIds}::uuid[])
      order by worker_id for update
    )`)
}

/** Marks everybody who has evidence; gives how many were not marked before. */
export function markEverybody(tx: Tx, reason: RecomputationReason, now: Date): Promise<number> {
  return tx.run(sql`
    insert into score_recomputations (worker_id, since, reason)
    select distinct worker_id, ${now}::timestamptz, ${reason}::text from evidence order by worker_id
    on conflict do nothing`)
}

export async function countRecomputations(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*) as count from score_recomputations`)
  return row?.count ?? 0
}

export interface OwnedEvidence {
  evidenceId: string
  workerId: string
  type: string
  skillId: string
}

/** Whose it is, which stays so under the owner's lock, and what it speaks for, which never changes. */
export function findEvidence(db: Queryable, ids: readonly string[]): Promise<OwnedEvidence[]> {
  return db.rows<OwnedEvidence>(sql`
    select evidence_id as "evidenceId", worker_id as "workerId", type, skill_id as "skillId"
    from evidence where evidence_id = any(${ids}::uuid[]) order by evidence_id`)
}

/** What is not revoked of a worker's evidence. */
export async function findStandingEvidenceIds(db: Queryable, workerId: string): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select evidence_id as id from evidence
    where worker_id = ${workerId} and state <> 'revoked' order by evidence_id`)
  return rows.map(({ id }) => id)
}

/** Called under the locks of the rows, of who owned them and of who owns them from now on. */
export async function setOwner(tx: Tx, ids: readonly string[], workerId: string): Promise<void> {
  await tx.run(sql`
    update evidence set worker_id = ${workerId} where evidence_id = any(${ids}::uuid[])`)
}
