/**
 * Registration of sources. A change of a source's assurance or group marks every worker with
 * evidence of it for recomputation.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../platform/db/db.ts'
import type { Refused } from './line-reader.ts'
import { markWorkersOfSource } from './recomputation-store.ts'
import type { SourceLine } from './schema.ts'
import { type Source, sourceOf } from './source-line.ts'
import { insertSource, insertSourceChange, lockSource, updateSource } from './source-store.ts'

export type Registered =
  | { result: 'registered' | 'changed' | 'unchanged'; source: Source }
  | Refused

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
  if (result !== 'unchanged') await insertSourceChange(tx, source, by)
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
