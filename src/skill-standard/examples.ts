/** Pure: examples for the contract, made from the released vocabulary. */
import controlled from '../../vocabulary/controlled.json' with { type: 'json' }
import release from '../../vocabulary/release.json' with { type: 'json' }
import typescript from '../../vocabulary/typescript.json' with { type: 'json' }
import { exampleUrl } from '../platform/http/contract.ts'
import { scoreBandDefinitions } from './bands.ts'
import { skillCatalogOf, type Vocabulary } from './catalog.ts'
import { contextDocument } from './context.ts'

export const exampleContext = contextDocument(exampleUrl)
export const exampleBands = scoreBandDefinitions(exampleUrl)

/** A valid catalog of one skill, because the whole catalog would swamp the contract. */
export const exampleCatalog = skillCatalogOf(
  // `lintVocabulary` checks these files; TypeScript widens the constants in them to strings.
  { records: [typescript], controlled, deprecated: {}, release } as Vocabulary,
  exampleUrl,
)
export const [exampleSkill] = exampleCatalog.skills
