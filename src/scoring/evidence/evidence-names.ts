/** Names of evidence: its id, or the source and the external id that the source gave it. */
import { Type } from 'typebox'
import type { Queryable } from '../../platform/db/db.ts'
import { findEvidenceByName } from './store.ts'

/** An id is in lowercase. */
export type EvidenceName = { id: string } | { sourceId: string; externalId: string }

/** The form of a name in a text: an id, or `SOURCE/EXTERNAL-ID`. */
const evidenceNamePattern = '^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[^/]+/.+)$'

/** Items of evidence in the input of an operation. */
export function evidenceNamesField(description: string) {
  const form = {
    maxLength: 300,
    pattern: evidenceNamePattern,
    description: 'must be an evidence id or SOURCE/EXTERNAL-ID',
  }
  return Type.Array(Type.String(form), { minItems: 1, maxItems: 1_000, description })
}

/** Returns the name that a text of this form holds. The id of a source holds no slash. */
export function evidenceNameOf(text: string): EvidenceName {
  const at = text.indexOf('/')
  return at === -1
    ? { id: text.toLowerCase() }
    : { sourceId: text.slice(0, at), externalId: text.slice(at + 1) }
}

export interface NamedEvidence {
  /** Each id once. An id in a name is returned without a look-up. */
  ids: string[]
  /** The names that no evidence has, as `SOURCE/EXTERNAL-ID`. */
  unknown: string[]
}

export async function findNamedEvidence(
  db: Queryable,
  names: readonly EvidenceName[],
): Promise<NamedEvidence> {
  const external = names.flatMap((name) => ('sourceId' in name ? name : []))
  const found = external.length === 0 ? [] : await findEvidenceByName(db, external)
  const known = new Set(found.map(textOf))
  const ids = new Set([
    ...names.flatMap((name) => ('id' in name ? name.id : [])),
    ...found.map(({ evidenceId }) => evidenceId),
  ])
  return { ids: [...ids], unknown: external.map(textOf).filter((name) => !known.has(name)) }
}

function textOf({ sourceId, externalId }: { sourceId: string; externalId: string }): string {
  return `${sourceId}/${externalId}`
}
