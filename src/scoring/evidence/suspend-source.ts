/** Suspension of a source: until it is resumed, its evidence counts for nothing. */
import type { Tx } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { markWorkersOfSource } from './recomputation-store.ts'
import { insertSourceChange, lockSource, updateSuspension } from './source-store.ts'

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
