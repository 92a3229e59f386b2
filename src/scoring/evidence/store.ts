/** SQL of the tables `evidence` and `evidence_private`. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { Evidence } from '../core/evidence.ts'
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
  /**
   * `YYYY-MM-DD`: the first day on which the item no longer counts, or null if it does not expire.
   */
  expiresOn: string | null
  /** SHA-256. */
  digest: Buffer
  ingestedAt: Date
  state: 'active' | 'expired'
}

/**
 * Inserts the items whose source has no row under their external id yet, and returns the inserted
 * ids. Rows are inserted in order of source and external id, so that two imports of one file wait
 * for each other and do not deadlock.
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

interface PrivateRow {
  evidenceId: string
  /** Canonical JSON. */
  payload: string
}

export async function insertPrivate(tx: Tx, rows: readonly PrivateRow[]): Promise<void> {
  await tx.run(sql`
    insert into evidence_private (evidence_id, payload)
    select * from unnest(${rows.map((row) => row.evidenceId)}::uuid[], ${rows.map((row) => row.payload)}::text[])`)
}

export interface StoredEvidence extends Omit<EvidenceRow, 'ingestedAt' | 'state'> {
  /** Null if the item has no private part or if it was erased. */
  payload: string | null
  isErased: boolean
}

/** Returns the stored items with these names, with their private parts. */
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

interface WorkerEvidence extends Required<Omit<Evidence, 'excluded'>> {
  workerId: string
  state: EvidenceState
}

/**
 * Returns all evidence of these workers, with the current assurance and group of its source and
 * without personal data. The assurance of a suspended source is 0. The engine receives only active
 * items.
 */
export function findWorkerEvidence(
  db: Queryable,
  workerIds: readonly string[],
): Promise<WorkerEvidence[]> {
  return db.rows<WorkerEvidence>(sql`
    select e.worker_id as "workerId", e.evidence_id as id, e.skill_id as "skillId", e.type,
      s.independence_group as "group",
      case when s.suspended_at is null then s.assurance else 0 end as assurance, e.value,
      e.observed_on - date '1970-01-01' as "observedDay", encode(e.digest, 'hex') as digest,
      e.state
    from evidence e join sources s on s.source_id = e.source_id
    where e.worker_id = any(${workerIds}::uuid[])
    order by e.worker_id, e.evidence_id`)
}

/** Returns the days since 1970-01-01 from which items no longer count, of those that expire. */
export async function findExpiryDays(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db.rows<{ id: string; day: number }>(sql`
    select evidence_id as id, expires_on - date '1970-01-01' as day from evidence
    where evidence_id = any(${ids}::uuid[]) and expires_on is not null`)
  return new Map(rows.map(({ id, day }) => [id, day]))
}

export const evidenceStates = ['active', 'excluded', 'revoked', 'expired'] as const
type EvidenceState = (typeof evidenceStates)[number]

export interface EvidenceInState {
  evidenceId: string
  workerId: string
  state: EvidenceState
}

/** Locks items in order of id and returns their states. Unknown ids are left out. */
export function lockEvidence(tx: Tx, ids: readonly string[]): Promise<EvidenceInState[]> {
  return tx.rows<EvidenceInState>(sql`
    select evidence_id as "evidenceId", worker_id as "workerId", state
    from evidence where evidence_id = any(${ids}::uuid[])
    order by evidence_id for no key update`)
}

/**
 * Changes the state of locked items. An item that would become active but has expired meanwhile
 * becomes `expired`.
 */
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

/** The caller holds the locks of the rows. */
export async function markEvidenceRevoked(
  tx: Tx,
  ids: readonly string[],
  { reason, actor, now }: { reason: RevocationReason; actor: string; now: Date },
): Promise<void> {
  await tx.run(sql`
    update evidence set state = 'revoked', state_at = ${now}, revoked_reason = ${reason}, revoked_by = ${actor}
    where evidence_id = any(${ids}::uuid[])`)
}

/**
 * Expires at most `limit` due items and returns the worker of each. Skips rows that another
 * transaction holds.
 */
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

export type OwnedEvidence = Pick<EvidenceRow, 'evidenceId' | 'workerId' | 'type' | 'skillId'>

/**
 * Returns the worker, type and skill of each item. The worker stays the same under the worker's
 * lock; type and skill never change.
 */
export function findEvidence(db: Queryable, ids: readonly string[]): Promise<OwnedEvidence[]> {
  return db.rows<OwnedEvidence>(sql`
    select evidence_id as "evidenceId", worker_id as "workerId", type, skill_id as "skillId"
    from evidence where evidence_id = any(${ids}::uuid[]) order by evidence_id`)
}

/** Returns the ids of the worker's evidence that is not revoked. */
export async function findUnrevokedEvidenceIds(db: Queryable, workerId: string): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select evidence_id as id from evidence
    where worker_id = ${workerId} and state <> 'revoked' order by evidence_id`)
  return rows.map(({ id }) => id)
}

/** Returns at most `limit` ids of the source's evidence that is not revoked. */
export async function findUnrevokedOfSource(
  db: Queryable,
  sourceId: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select evidence_id as id from evidence
    where source_id = ${sourceId} and state <> 'revoked' limit ${limit}`)
  return rows.map(({ id }) => id)
}

interface ListedEvidence extends Omit<EvidenceRow, 'digest' | 'state'> {
  state: EvidenceState
  stateAt: Date
  /** Null unless the item is revoked. */
  revokedReason: RevocationReason | null
  revokedBy: string | null
}

interface EvidenceFilter {
  sourceId: string | null
  workerId: string | null
  state: EvidenceState | null
  /** Id of the last item of the page before. */
  after: string | null
  limit: number
}

/** Returns a page of evidence in the order of the sources and of their ids for it. */
export function findEvidencePage(
  db: Queryable,
  { sourceId, workerId, state, after, limit }: EvidenceFilter,
): Promise<ListedEvidence[]> {
  return db.rows<ListedEvidence>(sql`
    select evidence_id as "evidenceId", worker_id as "workerId", source_id as "sourceId",
      external_id as "externalId", skill_id as "skillId", type, value,
      to_char(observed_on, 'YYYY-MM-DD') as "observedOn",
      to_char(expires_on, 'YYYY-MM-DD') as "expiresOn", ingested_at as "ingestedAt", state,
      state_at as "stateAt", revoked_reason as "revokedReason", revoked_by as "revokedBy"
    from evidence
    where (${sourceId}::text is null or source_id = ${sourceId})
      and (${workerId}::uuid is null or worker_id = ${workerId})
      and (${state}::text is null or state = ${state})
      and (${after}::uuid is null or (source_id, external_id) > (
        select source_id, external_id from evidence where evidence_id = ${after}))
    order by source_id, external_id limit ${limit}`)
}

/** Moves items to another worker. The caller holds the locks of the rows and of both workers. */
export async function moveToWorker(
  tx: Tx,
  ids: readonly string[],
  workerId: string,
): Promise<void> {
  await tx.run(sql`
    update evidence set worker_id = ${workerId} where evidence_id = any(${ids}::uuid[])`)
}

/** What an export shows of an item. */
interface EvidenceRecord {
  /** JSON text, or null if the item has no private part. */
  payload: string | null
}

export function findEvidenceRecords(db: Queryable, workerId: string): Promise<EvidenceRecord[]> {
  return db.rows<EvidenceRecord>(sql`
    select e.evidence_id as "evidenceId", e.source_id as "sourceId",
      e.external_id as "externalId", e.skill_id as "skillId", e.type, e.value,
      to_char(e.observed_on, 'YYYY-MM-DD') as "observedOn",
      to_char(e.expires_on, 'YYYY-MM-DD') as "expiresOn", encode(e.digest, 'hex') as digest,
      e.ingested_at as "ingestedAt", e.state, e.revoked_reason as "revokedReason",
      e.revoked_by as "revokedBy", p.payload
    from evidence e left join evidence_private p on p.evidence_id = e.evidence_id
    where e.worker_id = ${workerId} order by e.evidence_id`)
}

/** Erases all evidence of the worker and returns the number of items. */
export async function eraseEvidence(tx: Tx, workerId: string): Promise<number> {
  await tx.run(sql`delete from score_recomputations where worker_id = ${workerId}`)
  await tx.run(sql`
    delete from evidence_private
    where evidence_id in (select evidence_id from evidence where worker_id = ${workerId})`)
  return tx.run(sql`delete from evidence where worker_id = ${workerId}`)
}
