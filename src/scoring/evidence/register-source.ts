/**
 * Registers and suspends sources. If the assurance or group of a source changes, or if it is
 * suspended or resumed, every worker with evidence from it is marked for recomputation. Tables:
 * writes `sources` and `source_changes`.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Applied } from '../../operations/ingest.ts'
import { changed, unchanged } from '../../operations/operation.ts'
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import type { BadgeSigner } from './open-badge.ts'
import { markWorkersOfSource } from './recomputation-store.ts'
import type { Refused, SourceLine } from './schema.ts'
import { type Source, sourceOf } from './source-line.ts'

type Registered = { result: 'registered' | 'changed' | 'unchanged'; source: Source } | Refused

/** Registers or changes sources. Their history keeps `by`. */
export async function registerSources(
  tx: Tx,
  lines: readonly SourceLine[],
  by: { actor: string; now: Date },
): Promise<Applied<'registered' | 'changed' | 'unchanged', 'sources.registered'>> {
  const answers: Registered[] = []
  for (const line of lines) answers.push(await registerSource(tx, line, by))
  const [registered, altered] = [idsOf(answers, 'registered'), idsOf(answers, 'changed')]
  const subjects = [...registered, ...altered]
  if (subjects.length === 0) return unchanged(answers)
  const details = { registered: registered.length, changed: altered.length }
  return changed(answers, { subjects, details })
}

function idsOf(answers: readonly Registered[], result: 'registered' | 'changed'): string[] {
  return answers.flatMap((one) => ('result' in one && one.result === result ? one.source.id : []))
}

/**
 * Registers or changes a source. The source, its history and the marks commit together. The history
 * keeps `actor`.
 */
export async function registerSource(
  tx: Tx,
  line: SourceLine,
  by: { actor: string; now: Date },
): Promise<Registered> {
  const source = sourceOf(line)
  if ('refused' in source) return source
  const isNew = await insertSource(tx, source, by.now)
  const result = isNew ? 'registered' : await change(tx, source, by.now)
  if (result !== 'unchanged') await insertSourceChange(tx, source.id, by)
  return { result, source }
}

async function change(tx: Tx, source: Source, now: Date): Promise<'changed' | 'unchanged'> {
  const before = await lockSource(tx, source.id)
  if (before === undefined) throw new Error(`the source ${source.id} is neither new nor known`)
  if (isDeepStrictEqual(before, source)) return 'unchanged'
  const isTrustedAsBefore = before.assurance === source.assurance && before.group === source.group
  await updateSource(tx, source, now)
  if (!isTrustedAsBefore) await markWorkersOfSource(tx, source.id, now)
  return 'changed'
}

/**
 * Suspends or resumes a source and marks every worker with evidence from it. Returns false if the
 * source was so before. The history of the source keeps `actor`.
 */
export async function setSuspended(
  tx: Tx,
  { sourceId, isSuspended }: { sourceId: string; isSuspended: boolean },
  by: { actor: string; now: Date },
): Promise<boolean | Refusal<'source_not_found'>> {
  if ((await lockSource(tx, sourceId)) === undefined) return unknownSource(sourceId)
  if (!(await updateSuspension(tx, { sourceId, isSuspended, now: by.now }))) return false
  await insertSourceChange(tx, sourceId, by)
  await markWorkersOfSource(tx, sourceId, by.now)
  return true
}

export function unknownSource(id: string): Refusal<'source_not_found'> {
  return refuse('source_not_found', { message: `No source has the id ${id}.` })
}

interface RegisteredSource extends Source {
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
async function lockSource(tx: Tx, id: string): Promise<Source | undefined> {
  const [source] = await tx.rows<Source>(sql`
    select source_id as id, name, kind, assurance, independence_group as "group", issuer,
      public_keys as "publicKeys"
    from sources where source_id = ${id} for no key update`)
  return source
}

/**
 * Returns false if the source exists, for example because another transaction inserted it first.
 */
async function insertSource(tx: Tx, source: Source, now: Date): Promise<boolean> {
  const { id, name, kind, assurance, group, issuer, publicKeys } = source
  const inserted = await tx.run(sql`
    insert into sources (source_id, name, kind, assurance, independence_group, issuer, public_keys,
      registered_at, changed_at)
    values (${id}, ${name}, ${kind}, ${assurance}, ${group}, ${issuer}, ${publicKeys}, ${now}, ${now})
    on conflict do nothing`)
  return inserted === 1
}

async function updateSource(tx: Tx, source: Source, now: Date): Promise<void> {
  const { id, name, kind, assurance, group, issuer, publicKeys } = source
  await tx.run(sql`
    update sources set name = ${name}, kind = ${kind}, assurance = ${assurance},
      independence_group = ${group}, issuer = ${issuer}, public_keys = ${publicKeys},
      changed_at = ${now}
    where source_id = ${id}`)
}

/** Returns false if the source is in this state already. The caller holds its lock. */
async function updateSuspension(
  tx: Tx,
  { sourceId, isSuspended, now }: { sourceId: string; isSuspended: boolean; now: Date },
): Promise<boolean> {
  const updated = await tx.run(sql`
    update sources set suspended_at = ${isSuspended ? now : null}, changed_at = ${now}
    where source_id = ${sourceId} and (suspended_at is null) = ${isSuspended}`)
  return updated === 1
}

/** Records the current state of the source. The caller holds the lock of the source. */
async function insertSourceChange(
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
