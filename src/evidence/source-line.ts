/** Pure: a source as the operator describes it, held against what its kind allows. */
import { type Refused, refused, valueReader } from './line-reader.ts'
import { type SourceLine, sourceLine } from './schema.ts'
import { type SourceKindName, sourceKindNames, sourceKinds } from './source-kinds.ts'

export interface Source {
  id: string
  name: string
  kind: SourceKindName
  /** Permille. */
  assurance: number
  /** Whoever answers for it. */
  group: string
}

export const readSourceLine = valueReader(sourceLine)

/** Without an assurance it is trusted as far as its kind allows. */
export function sourceOf(line: SourceLine): Source | Refused {
  const { id, name, kind, assurance, group } = line
  const { assuranceMax, group: sharedGroup } = sourceKinds[kind]
  if (assurance !== undefined && assurance > assuranceMax)
    return refused('assurance', `is at most ${assuranceMax} for a source of this kind`)
  if (sharedGroup !== undefined && group !== undefined && group !== sharedGroup)
    return refused('group', `is always ${sharedGroup} for a source of this kind`)
  const own = sharedGroup ?? group
  if (own === undefined) return refused('group', 'is missing: name who answers for the source')
  if (sharedGroup === undefined && sharedGroups.has(own))
    return refused('group', 'is kept for sources of another kind')
  return { id, name, kind, assurance: assurance ?? assuranceMax, group: own }
}

const sharedGroups: ReadonlySet<string | undefined> = new Set(
  sourceKindNames.map((kind) => sourceKinds[kind].group),
)
