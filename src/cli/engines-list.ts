/** `assay engines list`: every engine that is kept here or made a score. */
import type { Config } from '../config/config.ts'
import { wireTime } from '../platform/clock.ts'
import { withDatabase } from './context.ts'
import { type KnownEngine, knownEngines } from './known-engines.ts'
import { done, type Outcome } from './output.ts'

export function listEnginesCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const engines = (await knownEngines(db)).map(({ recall, ...engine }) => ({
      ...engine,
      recalledAt: recall && wireTime(recall.recalledAt),
      reason: recall && recall.reason,
    }))
    return done({ ok: true, engines }, engines.map(lineOf))
  })
}

type Told = Omit<KnownEngine, 'recall'> & { recalledAt: string | null; reason: string | null }

function lineOf({ version, sha256, isKept, isReleased, ...engine }: Told): string {
  const facts = [
    isReleased ? 'of this release' : isKept ? 'kept' : 'not kept here',
    `${engine.scores} scores, ${engine.active} active`,
    engine.recalledAt && `recalled ${engine.recalledAt}: ${engine.reason}`,
  ]
  return `${version.padEnd(8)}  ${sha256}  ${facts.filter(Boolean).join(', ')}`
}
