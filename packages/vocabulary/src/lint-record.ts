/** Pure: rules for one record: evidence weights (V8), rubric (V9), controlled words (V10). */
import type { ControlledLists, SourceRecord } from '../../../src/standard/source.ts'
import type { Entry, Finding } from './finding.ts'

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
