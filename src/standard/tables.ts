/** Pure: the vocabulary as tables, for spreadsheets and statistics programs. */
import { csvLine } from '../platform/csv.ts'
import type { SkillNotes, SkillRecord } from './schema.ts'
import type { ControlledLists, Crosswalk } from './source.ts'

/** Between the texts of one cell. Ids and slugs have a space between them. */
const separator = ' | '

type Row = Readonly<Record<string, string | number | null>>

/** Returns one row for each skill. Each kind of evidence has a column for its weight and signal. */
export function skillsCsv(
  skills: readonly SkillRecord[],
  { evidence_types }: ControlledLists,
): string {
  return csvOf(
    skills.map((skill) => ({
      id: skill.id,
      url: skill['@id'],
      version: skill.version,
      label: skill.label,
      aliases: skill.aliases.join(separator),
      domain: skill.domain,
      subdomain: skill.subdomain ?? null,
      category: skill.category.join(' '),
      description: skill.description,
      ...evidenceCells(skill, evidence_types),
      decay_half_life_months: skill.decay_half_life_months,
      depends_on: skill.depends_on.join(' '),
      related_to: skill.related_to.join(' '),
      novice: skill.proficiency_rubric.novice,
      intermediate: skill.proficiency_rubric.intermediate,
      advanced: skill.proficiency_rubric.advanced,
      expert: skill.proficiency_rubric.expert,
      anchored: skill.anchored,
    })),
  )
}

function evidenceCells(skill: SkillRecord, kinds: ControlledLists['evidence_types']): Row {
  const cells = kinds.map(({ slug }) => {
    const evidence = skill.evidence_types.find(({ type }) => type === slug)
    return [
      [`weight_${slug}`, evidence?.weight ?? 0],
      [`signal_${slug}`, evidence?.signal ?? null],
    ] as const
  })
  return Object.fromEntries([
    ...cells.map(([weight]) => weight),
    ...cells.map(([, signal]) => signal),
  ])
}

/**
 * Returns one row for each mapping, and one with empty cells for each skill and scheme without one,
 * so that a gap is visible.
 */
export function crosswalkCsv(skills: readonly SkillRecord[], crosswalk: Crosswalk): string {
  const schemes = Object.keys(schemeNames)
  return csvOf(
    skills.flatMap((skill) =>
      schemes.flatMap((scheme): Row[] => {
        const mappings = crosswalk.filter(
          (mapping) => mapping.skill === skill.id && mapping.scheme === scheme,
        )
        const named = { skill: skill.id, skill_url: skill['@id'], skill_label: skill.label, scheme }
        if (mappings.length === 0) return [{ ...named, ...noMapping }]
        return mappings.map(({ target, label, match, source }) => ({
          ...named,
          match: `skos:${match}`,
          target,
          target_label: label ?? null,
          source: source ?? null,
        }))
      }),
    ),
  )
}

const noMapping = { match: null, target: null, target_label: null, source: null }

/** Returns one row for the notes on each skill. A cell names each source by title and identifier. */
export function notesCsv(notes: readonly SkillNotes[]): string {
  return csvOf(
    notes.map((note) => ({
      skill: note.about,
      url: note['@id'],
      skill_version: note.about_version,
      weights_rationale: note.weights_rationale,
      half_life_rationale: note.half_life_rationale,
      role_note: note.role_note,
      sources: note.sources
        .map(({ title, identifier }) => `${title}, ${identifier}`)
        .join(separator),
      review_count: note.reviews.length,
    })),
  )
}

/** The foreign vocabularies of the crosswalk, with the credit that their terms ask for. */
export const schemeNames: Readonly<Record<string, { title: string; credit: string }>> = {
  esco: {
    title: 'ESCO',
    credit: 'This service uses the ESCO classification of the European Commission.',
  },
  onet: {
    title: 'O*NET',
    credit:
      'The crosswalk names elements of the O*NET® Content Model by the U.S. Department of Labor, Employment and Training Administration (USDOL/ETA), used under CC BY 4.0. O*NET® is a trademark of USDOL/ETA. USDOL/ETA has not approved, endorsed or tested the crosswalk.',
  },
}

/** The rows have the same columns in the same order. */
function csvOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => Object.values(row).map((cell) => String(cell ?? '')))
  const header = Object.keys(rows[0] ?? {})
  return [header, ...lines].map((cells) => `${csvLine(cells)}\r\n`).join('')
}
