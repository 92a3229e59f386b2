/**
 * Registers and suspends sources. If the assurance or group of a source changes, or if it is
 * suspended or resumed, every worker with evidence from it is marked for recomputation.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Applied } from '../../operations/ingest.ts'
import { changed, unchanged } from '../../operations/operation.ts'
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import type { Refused } from './line-reader.ts'
import { markWorkersOfSource } from './recomputation-store.ts'
import type { SourceLine } from './schema.ts'
import { type Source, sourceOf } from './source-line.ts'
import {
  insertSource,
  insertSourceChange,
  lockSource,
  updateSource,
  updateSuspension,
} from './source-store.ts'

export type Registered =
  | { result: 'registered' | 'changed' | 'unchanged'; source: Source }
  | Refused

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
