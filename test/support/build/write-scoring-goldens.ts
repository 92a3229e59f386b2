/** `node test/support/build/write-scoring-goldens.ts` writes the golden vectors; a test compares them with what it would write. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { goldensPath, goldensText } from './scoring-goldens.ts'

writeFileSync(join(import.meta.dirname, '../../..', goldensPath), goldensText())
