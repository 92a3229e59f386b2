/**
 * Pure: references between records: V5 (every reference resolves), V6 (prerequisites form no
 * circle), V7 (related skills).
 */
import type { Entry, Finding } from './finding.ts'

/** Longest allowed chain of prerequisites, in steps. */
const depthMax = 6

/**
 * Returns the findings. `knownIds` also holds the ids of malformed records, so that one fault gives
 * one finding.
 */
export function lintGraph(entries: readonly Entry[], knownIds: ReadonlySet<string>): Finding[] {
  const prerequisites = new Map(
    entries.map(({ record }) => [record.id, record.depends_on] as const),
  )
  const related = new Map(entries.map(({ record }) => [record.id, new Set(record.related_to)]))
  return [
    ...entries.flatMap((entry) => unresolved(entry, knownIds)),
    ...circlesAndDepth(entries, prerequisites),
    ...entries.flatMap((entry) => relatedFaults(entry, { prerequisites, related })),
  ]
}

type Prerequisites = ReadonlyMap<string, readonly string[]>

function unresolved({ file, record }: Entry, knownIds: ReadonlySet<string>): Finding[] {
  const references = [...record.depends_on, ...record.related_to]
  return references
    .filter((id) => !knownIds.has(id))
    .map((id) => ({ rule: 'V5', file, message: `${id} is not in the vocabulary` }))
}

/**
 * Kahn's algorithm: removes, layer by layer, the records without a prerequisite left. The rest is
 * in a circle or depends on one.
 */
function circlesAndDepth(entries: readonly Entry[], prerequisites: Prerequisites): Finding[] {
  const findings: Finding[] = []
  let remaining = [...entries]
  for (let depth = 0; remaining.length > 0; depth++) {
    const open = new Set(remaining.map(({ record }) => record.id))
    const isReady = ({ record }: Entry) => !record.depends_on.some((id) => open.has(id))
    const layer = remaining.filter(isReady)
    if (layer.length === 0) break
    if (depth > depthMax)
      for (const { file } of layer)
        findings.push({
          rule: 'V6',
          file,
          message: `${depth} steps of prerequisites, over ${depthMax}`,
        })
    remaining = remaining.filter((entry) => !layer.includes(entry))
  }
  for (const { file, record } of remaining)
    if (closureOf(record.id, prerequisites).has(record.id))
      findings.push({ rule: 'V6', file, message: `${record.id} is its own prerequisite` })
  return findings
}

function closureOf(id: string, prerequisites: Prerequisites): Set<string> {
  const reached = new Set<string>()
  const waiting = [...(prerequisites.get(id) ?? [])]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    waiting.push(...(prerequisites.get(next) ?? []))
  }
  return reached
}

function relatedFaults(
  { file, record }: Entry,
  graph: { prerequisites: Prerequisites; related: ReadonlyMap<string, ReadonlySet<string>> },
): Finding[] {
  const closure = closureOf(record.id, graph.prerequisites)
  return record.related_to.flatMap((id): Finding[] => {
    const messages: string[] = []
    if (id === record.id) messages.push('a skill is not related to itself')
    if (graph.related.get(id)?.has(record.id) === false)
      messages.push(`${id} does not name ${record.id} in return`)
    if (closure.has(id)) messages.push(`${id} is a prerequisite, so it is not also related`)
    return messages.map((message) => ({ rule: 'V7', file, message }))
  })
}
