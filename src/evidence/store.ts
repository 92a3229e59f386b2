/** All SQL of evidence and evidence_private. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { Evidence } from '../scoring-core/evidence.ts'
import type { RevocationReason } from './schema.ts'

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
