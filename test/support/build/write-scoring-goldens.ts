/**
 * `node test/support/build/write-scoring-goldens.ts` writes the golden vectors. A test compares the
 * file with the output of this code.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { goldensPath, goldensText } from './scoring-goldens.ts'

writeFileSync(join(import.meta.dirname, '../../..', goldensPath), goldensText())
