/** How evidence is named on the command line: by id, or as its source calls it. */
import { findEvidenceByName } from '../evidence/store.ts'
import type { Queryable } from '../platform/db/db.ts'
import { usageError } from './fail.ts'
import { uuidForm } from './uuid-form.ts'

export type EvidenceName = { id: string } | { sourceId: string; externalId: string }

/** Throws `Failure` for what is neither an id nor `SOURCE/EXTERNAL-ID`. */
export function evidenceNameOf(text: string): EvidenceName {
  if (uuidForm.test(text)) return { id: text.toLowerCase() }
  // A source's id holds no slash; its own names may.
  const at = text.indexOf('/')
  if (at < 1 || at === text.length - 1)
    throw usageError(`${JSON.stringify(text)} is neither an evidence id nor SOURCE/EXTERNAL-ID`)
  return { sourceId: text.slice(0, at), externalId: text.slice(at + 1) }
}

/** The ids, each once; those given as ids are not looked up. `unknown`: names that no evidence has. */
export async function evidenceIdsOf(
  db: Queryable,
  names: readonly EvidenceName[],
): Promise<{ ids: string[]; unknown: string[] }> {
  const named = names.flatMap((name) => ('sourceId' in name ? name : []))
  const found = named.length === 0 ? [] : await findEvidenceByName(db, named)
  const known = new Set(found.map(({ sourceId, externalId }) => `${sourceId}/${externalId}`))
  const ids = new Set([
    ...names.flatMap((name) => ('id' in name ? name.id : [])),
    ...found.map(({ evidenceId }) => evidenceId),
  ])
  const unknown = named
    .map(({ sourceId, externalId }) => `${sourceId}/${externalId}`)
    .filter((name) => !known.has(name))
  return { ids: [...ids], unknown }
}
