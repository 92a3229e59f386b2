/**
 * Measures status lists for 100 million credentials. The simulation runs twice and the second run
 * counts: it finds its code in the compile cache, so the 25 MB of the type stripper are not counted
 * as memory of lists.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endWithBench } from './children.ts'

const cache = mkdtempSync(join(tmpdir(), 'assay-bench-code-'))
try {
  for (const stdio of ['ignore', 'inherit'] as const) {
    const file = join(import.meta.dirname, 'status-lists-simulation.ts')
    const env = { ...process.env, NODE_COMPILE_CACHE: cache }
    const child = endWithBench(
      spawn(process.execPath, [file, ...process.argv.slice(2)], { stdio, env }),
    )
    const [code] = await once(child, 'exit')
    process.exitCode = code
  }
} finally {
  rmSync(cache, { recursive: true, force: true })
}
