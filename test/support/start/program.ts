import { join } from 'node:path'

/** What `bin/assay` runs: the bundled program, or the sources if the tests run without npm. */
export const program =
  process.env.ASSAY_PROGRAM ?? join(import.meta.dirname, '../../../src/cli/assay.ts')
