/** `assay sources list`: every source, and what it is trusted with. */
import type { Config } from '../config/config.ts'
import { findSources } from '../evidence/source-store.ts'
import { done, type Outcome } from './output.ts'
import { oneLine } from './told-result.ts'
import { withDatabase } from './with-database.ts'

export function listSourcesCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const sources = await findSources(db)
    const lines = sources.map(
      ({ id, name, kind, assurance, group }) =>
        `${id.padEnd(24)} ${kind.padEnd(17)} ${String(assurance).padStart(4)} ‰  ${group.padEnd(24)} ${oneLine(name)}`,
    )
    return done({ ok: true, sources }, lines.length > 0 ? lines : ['There is no source yet.'])
  })
}
