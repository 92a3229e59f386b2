/**
 * Pure: rules for one record: evidence weights (V8), rubric (V9), controlled words (V10). References
 * between records: V5 (every reference resolves), V6 (prerequisites form no circle), V7 (related
 * skills).
 */
import type { ControlledLists, SourceRecord } from '../../../src/standard/source.ts'
import type { Entry, Finding } from './source.ts'

export function lintRecord({ file, record }: Entry, controlled: ControlledLists): Finding[] {
  return [
    ...evidenceFaults(record, controlled).map((message) => ({
      rule: 'V8' as const,
      file,
      message,
    })),
    ...rubricFaults(record).map((message) => ({ rule: 'V9' as const, file, message })),
    ...wordFaults(record, controlled).map((message) => ({ rule: 'V10' as const, file, message })),
  ]
}

/** The scoring core counts in thousandths, so weights must be whole thousandths. */
function evidenceFaults({ evidence_types }: SourceRecord, controlled: ControlledLists): string[] {
  const faults: string[] = []
  const known = new Set(controlled.evidence_types.map(({ slug }) => slug))
  const seen = new Set<string>()
  let permille = 0
  for (const { type, weight } of evidence_types) {
    if (!known.has(type)) faults.push(`${type} is no evidence type`)
    if (seen.has(type)) faults.push(`the evidence type ${type} stands twice`)
    seen.add(type)
    const rounded = Math.round(weight * 1_000)
    if (rounded / 1_000 !== weight) faults.push(`the weight ${weight} has more than 3 decimals`)
    permille += rounded
  }
  if (permille !== 1_000) faults.push(`the weights sum to ${permille / 1_000}, not 1`)
  return faults
}

const levels = ['novice', 'intermediate', 'advanced', 'expert']
const levelLengthMin = 60
const levelLengthMax = 240

function rubricFaults({ proficiency_rubric: rubric }: SourceRecord): string[] {
  const faults: string[] = []
  for (const level of levels) if (!(level in rubric)) faults.push(`the level ${level} is missing`)
  const seen = new Map<string, string>()
  for (const [level, text] of Object.entries(rubric)) {
    if (!levels.includes(level)) faults.push(`${level} is no level`)
    if (text.length < levelLengthMin || text.length > levelLengthMax)
      faults.push(
        `${level} has ${text.length} characters, not ${levelLengthMin} to ${levelLengthMax}`,
      )
    // Years of experience are no evidence of ability.
    if (/\byears?\b.{0,20}\bexperience\b|\bexperience\b.{0,20}\byears?\b/i.test(text))
      faults.push(`${level} counts years of experience`)
    const same = seen.get(text.trim().toLowerCase())
    if (same !== undefined) faults.push(`${level} says the same as ${same}`)
    seen.set(text.trim().toLowerCase(), level)
  }
  return faults
}

function wordFaults(record: SourceRecord, controlled: ControlledLists): string[] {
  const faults: string[] = []
  if (!controlled.domains.some(({ slug }) => slug === record.domain))
    faults.push(`${record.domain} is not in the list of domains`)
  for (const category of record.category)
    if (!controlled.categories.some(({ slug }) => slug === category))
      faults.push(`${category} is no category`)
  if (record.subdomain === null) return faults
  const subdomain = controlled.subdomains.find(({ slug }) => slug === record.subdomain)
  if (subdomain === undefined) faults.push(`${record.subdomain} is no subdomain`)
  else if (subdomain.domain !== record.domain)
    faults.push(`${subdomain.slug} is a subdomain of ${subdomain.domain}, not of ${record.domain}`)
  return faults
}

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
