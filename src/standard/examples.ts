/** Pure: examples for the contract, made from the released vocabulary. */
import controlled from '../../vocabulary/controlled.json' with { type: 'json' }
import crosswalk from '../../vocabulary/crosswalk.json' with { type: 'json' }
import git from '../../vocabulary/git.json' with { type: 'json' }
import typescriptNotes from '../../vocabulary/notes/typescript.json' with { type: 'json' }
import release from '../../vocabulary/release.json' with { type: 'json' }
import typescript from '../../vocabulary/typescript.json' with { type: 'json' }
import { exampleUrl } from '../edge/http/contract.ts'
import { scoreBandDefinitions } from './bands.ts'
import { skillCatalogOf, type Vocabulary } from './catalog.ts'
import { contextDocument, standardUrls } from './context.ts'
import { nQuadsOf } from './n-quads.ts'
import { releaseListOf } from './release-documents.ts'
import { crosswalkCsv, notesCsv, skillsCsv } from './tables.ts'
import { vocabularyDocument } from './terms.ts'

export const exampleContext = contextDocument(exampleUrl)
export const exampleBands = scoreBandDefinitions(exampleUrl)

// `lintVocabulary` checks these files; TypeScript widens the constants in them to strings.
const example = {
  records: [typescript],
  controlled,
  deprecated: {},
  crosswalk,
  release,
} as unknown as Vocabulary

/** A valid catalog of one skill, because the whole catalog would swamp the contract. */
export const exampleCatalog = skillCatalogOf(example, exampleUrl)
export const [exampleSkill] = exampleCatalog.skills

const { '@context': prefixes, '@graph': nodes } = vocabularyDocument(exampleUrl, example)
export const exampleTerms = { '@context': prefixes, '@graph': nodes.slice(0, 3) }

export const exampleNotes = {
  '@context': standardUrls(exampleUrl).context,
  '@type': 'SkillNotes',
  '@id': standardUrls(exampleUrl).notes('typescript'),
  about: typescriptNotes.skill,
  about_version: typescriptNotes.record_version,
  weights_rationale: typescriptNotes.weights_rationale,
  half_life_rationale: typescriptNotes.half_life_rationale,
  role_note: typescriptNotes.role_note,
  sources: [],
  reviews: [],
  license: release.license,
}

export const exampleNotesCsv = notesCsv([{ ...exampleNotes, '@type': 'SkillNotes' }])
export const exampleSkillsCsv = skillsCsv(exampleCatalog.skills, example.controlled)
export const exampleNQuads = nQuadsOf(exampleCatalog.skills[0] ?? {}, exampleContext['@context'])
export const exampleCrosswalk = crosswalkCsv(
  skillCatalogOf({ ...example, records: [git] as unknown as Vocabulary['records'] }, exampleUrl)
    .skills,
  example.crosswalk,
)
export const exampleReleases = releaseListOf(
  [{ ...release, content: `sha256:${'0'.repeat(64)}` }].map(
    ({ version, released_at, content }) => ({ version, released_at, content }),
  ),
  exampleUrl,
)
