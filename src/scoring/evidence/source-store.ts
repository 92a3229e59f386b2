/** SQL of the tables `sources` and `source_changes`. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { BadgeSigner } from './open-badge.ts'
import type { Source } from './source-line.ts'

export interface RegisteredSource extends Source {
  registeredAt: Date
  changedAt: Date
  /** Null unless the source is suspended. */
  suspendedAt: Date | null
}

/** Returns at most `limit` sources in order of id, after the id `after`. */
export function findSources(
  db: Queryable,
  { after, limit }: { after: string; limit: number },
): Promise<RegisteredSource[]> {
  return db.rows<RegisteredSource>(sql`
    select source_id as id, name, kind, assurance, independence_group as "group", issuer,
      public_keys as "publicKeys", registered_at as "registeredAt", changed_at as "changedAt",
      suspended_at as "suspendedAt"
    from sources where source_id > ${after} order by source_id limit ${limit}`)
}

/** Locks and returns a source, so that changes of one source run one after the other. */
export async function lockSource(tx: Tx, id: string): Promise<Source | undefined> {
  const [source] = await tx.rows<Source>(sql`
    select source_id as id, name, kind, assurance, independence_group as "group", issuer,
      public_keys as "publicKeys"
    from sources where source_id = ${id} for no key update`)
  return source
}

/**
 * Returns false if the source exists, for example because another transaction inserted it first.
 */
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

/** Returns false if the source is in this state already. The caller holds its lock. */
export async function updateSuspension(
  tx: Tx,
  { sourceId, isSuspended, now }: { sourceId: string; isSuspended: boolean; now: Date },
): Promise<boolean> {
  const updated = await tx.run(sql`
    update sources set suspended_at = ${isSuspended ? now : null}, changed_at = ${now}
    where source_id = ${sourceId} and (suspended_at is null) = ${isSuspended}`)
  return updated === 1
}

/** Records the current state of the source. The caller holds the lock of the source. */
export async function insertSourceChange(
  tx: Tx,
  sourceId: string,
  { actor, now }: { actor: string; now: Date },
): Promise<void> {
  await tx.run(sql`
    insert into source_changes (source_id, number, changed_at, actor, name, kind, assurance,
      independence_group, issuer, public_keys, suspended)
    select source_id,
      (select coalesce(max(number), 0) + 1 from source_changes where source_id = ${sourceId}),
      ${now}::timestamptz, ${actor}::text, name, kind, assurance, independence_group, issuer,
      public_keys, suspended_at is not null
    from sources where source_id = ${sourceId}`)
}

/** Returns the registered sources among `ids`, with the issuer and keys of their badges. */
export async function knownSources(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, BadgeSigner>> {
  const rows = await db.rows<BadgeSigner & { id: string }>(sql`
    select source_id as id, issuer, public_keys as "publicKeys"
    from sources where source_id = any(${ids}::text[])`)
  return new Map(rows.map((row) => [row.id, row]))
}
