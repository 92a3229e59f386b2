/** The engines that operators can name: those in engines/, and those that made a score. */
import type { Queryable } from '../../platform/db/db.ts'
import { keptEngines, releasedEngine } from './engine.ts'
import { countScoresByEngine, findRecalls, type RecallReason } from './recall-store.ts'

export interface KnownEngine {
  version: string
  /** SHA-256 of its bundle, 64 lowercase hex characters. */
  sha256: string
  /** Whether engines/ holds its bundle, so that its scores can be computed again. */
  isKept: boolean
  /** Whether it is the engine of this release. */
  isReleased: boolean
  scores: number
  active: number
  recall: { recalledAt: Date; reason: RecallReason } | null
}

/** Returns all engines, in the order of their first scores. */
export async function knownEngines(db: Queryable): Promise<KnownEngine[]> {
  const kept = keptVersions()
  const recalls = new Map(
    (await findRecalls(db)).map((recall) => [recall.engineSha256.toString('hex'), recall]),
  )
  const made = (await countScoresByEngine(db)).map(
    ({ engineSha256, engineVersion, ...counts }) => ({
      version: engineVersion,
      sha256: engineSha256.toString('hex'),
      ...counts,
    }),
  )
  const idle = [...kept].flatMap(([sha256, version]) =>
    made.some((engine) => engine.sha256 === sha256)
      ? []
      : { version, sha256, scores: 0, active: 0 },
  )
  return [...made, ...idle].map((engine) => {
    const isKept = kept.has(engine.sha256)
    const isReleased = isReleasedEngine(engine, kept)
    const { recalledAt, reason } = recalls.get(engine.sha256) ?? {}
    const recall = recalledAt && reason ? { recalledAt, reason } : null
    return { ...engine, isKept, isReleased, recall }
  })
}

/** Returns the versions of the bundles in engines/ by their SHA-256. */
function keptVersions(): Map<string, string> {
  return new Map(keptEngines().map(({ binarySha256, version }) => [binarySha256, version]))
}

export function isReleasedEngine(
  { version, sha256 }: Pick<KnownEngine, 'version' | 'sha256'>,
  kept: ReadonlyMap<string, string> = keptVersions(),
): boolean {
  return kept.has(sha256) && version === releasedEngine.version
}

/** Tells whether the engine of this release was recalled. */
export async function isReleaseRecalled(db: Queryable): Promise<boolean> {
  const kept = keptVersions()
  const recalls = await findRecalls(db)
  return recalls.some(({ engineSha256, engineVersion: version }) =>
    isReleasedEngine({ version, sha256: engineSha256.toString('hex') }, kept),
  )
}
