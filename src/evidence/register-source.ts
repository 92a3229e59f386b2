/**
 * Registers sources. If the assurance or group of a source changes, every worker with evidence from
 * it is marked for recomputation.
 */
import { isDeepStrictEqual } from 'node:util'
import { type ActionContext, audited, changed, unchanged } from '../audit/action.ts'
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
 * Registers or changes sources, all in one transaction. The history of a source keeps `by`; the
 * audit log names the actor of the context.
 */
export function registerSources(
  context: ActionContext,
  lines: readonly SourceLine[],
  by: string,
): Promise<Registered[]> {
  return audited(context, 'sources.registered', async (tx, now) => {
    const answers: Registered[] = []
    for (const line of lines) answers.push(await registerSource(tx, line, { actor: by, now }))
    const [registered, altered] = [idsOf(answers, 'registered'), idsOf(answers, 'changed')]
    const subjects = [...registered, ...altered]
    if (subjects.length === 0) return unchanged(answers)
    const details = { registered: registered.length, changed: altered.length }
    return changed(answers, { subjects, details })
  })
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
