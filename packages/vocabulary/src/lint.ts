/**
 * Pure: the rules of a good vocabulary, V1 to V14, V17 and V18. V15 and V16 need a JSON-LD
 * processor (`lint-json-ld.ts`). A malformed record gives V1 findings only; the other rules see
 * well-formed records.
 */
import { foldText } from '../../../src/platform/fold-text.ts'
import { domains } from '../../../src/standard/schema.ts'
import { isSlug, skillIdOf } from '../../../src/standard/slug.ts'
import type { Crosswalk } from '../../../src/standard/source.ts'
import { lintGraph, lintRecord } from './lint-record.ts'
import { lintRelease } from './lint-release.ts'
import { type Entry, type Finding, faultsOf, shapes, type VocabularyFiles } from './source.ts'

export interface LintOptions {
  /** Minimum of records in each domain (rule V11). */
  domainRecordsMin?: number
}

/**
 * A domain with fewer records is no fair part of a profile. The full starter vocabulary is planned
 * with fifteen.
 */
export const releaseDomainRecordsMin = 12

/**
 * Returns every finding, in the order of the rules. If the list is empty, the vocabulary may be
 * released.
 */
export function lintVocabulary(files: VocabularyFiles, options: LintOptions = {}): Finding[] {
  const { domainRecordsMin = releaseDomainRecordsMin } = options
  const { entries, findings } = withShape(files)
  const knownIds = new Set(files.records.map(({ file }) => skillIdOf(file.replace(/\.json$/, ''))))
  for (const { record } of entries) knownIds.add(record.id)
  findings.push(
    ...names(entries),
    ...lintGraph(entries, knownIds),
    ...entries.flatMap((entry) => lintRecord(entry, files.controlled)),
    ...duplicateSlugs(files),
    ...domainCounts(entries, { deprecated: files.deprecated, domainRecordsMin }),
    ...lintRelease(entries, files, knownIds),
    ...lintCrosswalk(files.crosswalk, knownIds),
  )
  return findings.sort((a, b) => Number(a.rule.slice(1)) - Number(b.rule.slice(1)))
}

function withShape(files: VocabularyFiles): { entries: Entry[]; findings: Finding[] } {
  const entries: Entry[] = []
  const findings: Finding[] = []
  for (const { file, content } of files.records) {
    if (shapes.record.Check(content)) entries.push({ file, record: content })
    else
      for (const message of faultsOf(shapes.record, content))
        findings.push({ rule: 'V1', file, message })
  }
  return { entries, findings }
}

/** V2, V3, V4, V18: one name for one skill. */
function names(entries: readonly Entry[]): Finding[] {
  const findings: Finding[] = []
  const ids = new Map<string, string>()
  const labels = new Map<string, string>()
  for (const { file, record } of entries) {
    const slug = file.replace(/\.json$/, '')
    if (!isSlug(slug) || record.id !== skillIdOf(slug))
      findings.push({ rule: 'V2', file, message: `the id ${record.id} is not that of the file` })
    for (const [seen, name] of [
      [ids, record.id],
      [labels, record.label],
    ] as const) {
      const other = seen.get(folded(name))
      if (other !== undefined)
        findings.push({ rule: 'V3', file, message: `"${name}" is also in ${other}` })
      seen.set(folded(name), file)
    }
  }
  return [...findings, ...aliases(entries, labels)]
}

function aliases(entries: readonly Entry[], labels: ReadonlyMap<string, string>): Finding[] {
  const findings: Finding[] = []
  const seen = new Map<string, string>()
  for (const { file, record } of entries) {
    for (const alias of record.aliases) {
      const name = folded(alias)
      const label = labels.get(name)
      const other = seen.get(name)
      if (name === folded(record.label))
        findings.push({ rule: 'V18', file, message: `the alias "${alias}" is the label again` })
      else if (label !== undefined)
        findings.push({
          rule: 'V4',
          file,
          message: `the alias "${alias}" is the label in ${label}`,
        })
      if (other !== undefined)
        findings.push({ rule: 'V4', file, message: `the alias "${alias}" is also in ${other}` })
      seen.set(name, file)
    }
  }
  return findings
}

/**
 * Folds a name: to a reader, two names that differ only in case, width, spaces or hyphens are one.
 */
function folded(name: string): string {
  return foldText(name).replace(/[\s-]/g, '')
}

/** V10, for the lists themselves. */
function duplicateSlugs({ controlled }: VocabularyFiles): Finding[] {
  return Object.entries(controlled).flatMap(([list, rows]) => {
    const slugs = rows.map(({ slug }) => slug)
    return slugs
      .filter((slug, i) => slugs.indexOf(slug) !== i)
      .map((slug) => {
        const message = `${slug} stands twice in ${list}`
        return { rule: 'V10' as const, file: 'controlled.json', message }
      })
  })
}

function domainCounts(
  entries: readonly Entry[],
  { deprecated, domainRecordsMin }: { deprecated: object; domainRecordsMin: number },
): Finding[] {
  return domains.flatMap((domain): Finding[] => {
    const living = entries.filter(
      ({ record }) => record.domain === domain && !Object.hasOwn(deprecated, record.id),
    )
    if (living.length >= domainRecordsMin) return []
    const message = `the domain ${domain} has ${living.length} records of at least ${domainRecordsMin}`
    return [{ rule: 'V11', file: 'catalog', message }]
  })
}

const schemes: Record<string, RegExp> = {
  /** Address of a skill concept. */
  esco: /^http:\/\/data\.europa\.eu\/esco\/skill\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  /** Place in the content model, e.g. `2.A.1.a`. */
  onet: /^[1-6]\.[A-Z]\.[0-9]{1,2}(?:\.[a-z](?:\.[0-9]{1,2})?)?$/,
}
const matches = new Set(['exactMatch', 'closeMatch', 'broadMatch', 'narrowMatch', 'relatedMatch'])

/** V17. */
function lintCrosswalk(crosswalk: Crosswalk, knownIds: ReadonlySet<string>): Finding[] {
  const messages: string[] = []
  const pairs = new Set<string>()
  const exact = new Set<string>()
  for (const { skill, scheme, target, match, label, source } of crosswalk) {
    const name = `${skill} → ${scheme} ${target}`
    const form = Object.hasOwn(schemes, scheme) ? schemes[scheme] : undefined
    if (!knownIds.has(skill)) messages.push(`${name}: there is no such skill`)
    if (form === undefined) messages.push(`${name}: the scheme is not known`)
    else if (!form.test(target)) messages.push(`${name}: the target is not well-formed`)
    if (!matches.has(match)) messages.push(`${name}: ${match} is no SKOS mapping`)
    if (!label || !source) messages.push(`${name}: the label or the source is missing`)
    if (pairs.has(name)) messages.push(`${name}: mapped twice`)
    pairs.add(name)
    if (match !== 'exactMatch') continue
    if (exact.has(`${skill} ${scheme}`)) messages.push(`${name}: a second exactMatch`)
    exact.add(`${skill} ${scheme}`)
  }
  return messages.map((message) => ({ rule: 'V17', file: 'crosswalk.json', message }))
}
