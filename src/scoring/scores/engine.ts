/**
 * The engine that computes scores: the checked-in bundle of the scoring core. Its hash is that of
 * the bytes that run. Before it computes any score, the same code has to pass the golden vectors,
 * so an altered file issues nothing.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import type { ScoreInput } from '../core/evidence.ts'
import type { Explanation } from '../core/explain.ts'
import { engineId, engineVersion, type parameters } from '../core/parameters.ts'
import type { ScoreResult } from '../core/score.ts'
import { firstWrong, type Goldens, readGoldens } from './goldens.ts'

export interface Engine {
  id: typeof engineId
  version: string
  /** SHA-256 of the running bundle, 64 lowercase hex characters. */
  binarySha256: string
  /**
   * SHA-256 of the golden vectors that the engine passed: over the lines that `sha256sum` prints
   * for their files.
   */
  goldenSha256: string
  /** Relative to the root of the project, with `/`. */
  path: string
  /** Size of the bundle in bytes. */
  size: number
  /** Parameters as the bundle exports them. */
  parameters: typeof parameters
  /** SHA-256 of the canonical JSON of the decay table. */
  tableSha256: string
  score: (input: ScoreInput) => ScoreResult
  /** A brief one has no effects of items and no additions. */
  explain: (input: ScoreInput, isBrief?: boolean) => Explanation
}

/** An engine of an earlier release, identified by its hash, for replaying its scores. */
export type PastEngine = Omit<Engine, 'goldenSha256'>

/** Engine of this release, even if it cannot be loaded. */
export const releasedEngine = { id: engineId, version: engineVersion } as const

export type EngineFault =
  /**
   * No bundle has this version or hash, two bundles have one version, or there are no golden
   * vectors.
   */
  | 'missing'
  /** The bytes do not match the hash in the file name or in the credential. */
  | 'altered'
  /** The bundle cannot be run, or its id or version differs from the file name. */
  | 'unusable'
  /** A golden vector has a different result. */
  | 'wrong_result'
  /** The operator recalled the engine. */
  | 'recalled'

/**
 * Thrown if no score may be computed. Issuing then answers 503 and readiness fails. The message is
 * for the operator.
 */
export class EngineRefused extends Error {
  override readonly name = 'EngineRefused'
  readonly fault: EngineFault

  constructor(fault: EngineFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.fault = fault
  }
}

/** Root of the project. */
const ownRoot = join(import.meta.dirname, '../../..')

/**
 * Loads the engine of this release and checks it against the golden vectors, which takes some
 * milliseconds.
 * @throws EngineRefused
 */
export async function loadEngine(root = ownRoot): Promise<Engine> {
  const start = `${engineId}-${engineVersion}-`
  const engine = await load(
    root,
    findBundle(root, (name) => name.startsWith(start), `version ${engineVersion}`),
  )
  const goldens = goldensOf(root)
  const wrong = firstWrong(engine.score, goldens)
  if (wrong !== null)
    throw new EngineRefused('wrong_result', `${engine.path} gets golden ${wrong} wrong`)
  return { ...engine, goldenSha256: goldens.sha256 }
}

function goldensOf(root: string): Goldens {
  try {
    return readGoldens(root)
  } catch (error) {
    throw new EngineRefused('missing', messageOf(error), { cause: error })
  }
}

/**
 * Loads the engine of any release by the SHA-256 of its bundle (64 lowercase hex characters).
 * @throws EngineRefused
 */
export async function loadEngineOf(binarySha256: string, root = ownRoot): Promise<PastEngine> {
  const end = `-${binarySha256.slice(0, 12)}.mjs`
  const path = findBundle(root, (name) => name.endsWith(end), `SHA-256 ${binarySha256}`)
  const engine = await load(root, path)
  if (engine.binarySha256 !== binarySha256)
    throw new EngineRefused(
      'altered',
      `${path} has the SHA-256 ${engine.binarySha256}, not ${binarySha256}`,
    )
  return engine
}

/**
 * Loads the engine of the highest version below this release. Returns null if there is none.
 * @throws EngineRefused
 */
async function previousEngine(root = ownRoot): Promise<PastEngine | null> {
  const versions = namesIn(join(root, 'engines'))
    .map((name) => /-([^-]+)-[0-9a-f]{12}\.mjs$/.exec(name)?.[1] ?? '')
    .filter((version) => isBefore(version, engineVersion))
    .sort((a, b) => (isBefore(a, b) ? -1 : 1))
  const version = versions.at(-1)
  if (version === undefined) return null
  const start = `${engineId}-${version}-`
  return load(
    root,
    findBundle(root, (name) => name.startsWith(start), `version ${version}`),
  )
}

/**
 * Lists every engine in `engines/` with the hash of its file. Runs none of them.
 * @throws EngineRefused
 */
export function keptEngines(root = ownRoot): { version: string; binarySha256: string }[] {
  return namesIn(join(root, 'engines')).flatMap((name) => {
    const version = /-([^-]+)-[0-9a-f]{12}\.mjs$/.exec(name)?.[1]
    return version === undefined
      ? []
      : { version, binarySha256: sha256Hex(read(root, `engines/${name}`)) }
  })
}

/** Compares by semantic versioning. Engines have no pre-releases. */
function isBefore(version: string, other: string): boolean {
  const theirs = other.split('.').map(Number)
  for (const [at, number] of version.split('.').map(Number).entries()) {
    const difference = number - (theirs[at] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

function findBundle(root: string, fits: (name: string) => boolean, wanted: string): string {
  const found = namesIn(join(root, 'engines')).filter((name) => name.endsWith('.mjs') && fits(name))
  const [name, another] = found
  if (name === undefined)
    throw new EngineRefused('missing', `engines/ holds no engine of ${wanted}`)
  if (another !== undefined)
    throw new EngineRefused(
      'missing',
      `engines/ holds more than one engine of ${wanted}: ${found.join(', ')}`,
    )
  return `engines/${name}`
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    throw new EngineRefused('missing', `${directory} cannot be read`, { cause: error })
  }
}

function read(root: string, path: string): Buffer {
  try {
    return readFileSync(join(root, path))
  } catch (error) {
    throw new EngineRefused('missing', `${path} cannot be read`, { cause: error })
  }
}

/**
 * Loads an engine. The bytes are read once and imported from memory, so the hashed bytes are the
 * ones that run.
 */
async function load(root: string, path: string): Promise<PastEngine> {
  const bytes = read(root, path)
  const binarySha256 = sha256Hex(bytes)
  const [, version = '', digits = ''] = /-([^-]+)-([0-9a-f]{12})\.mjs$/.exec(path) ?? []
  if (digits === '' || !binarySha256.startsWith(digits))
    throw new EngineRefused(
      'altered',
      `${path} has the SHA-256 ${binarySha256}, which is not that of its name`,
    )
  const found = await moduleOf(bytes, path)
  const {
    engineId: id,
    engineVersion: declaredVersion,
    score,
    explain,
    parameters: tuned,
    halves,
  } = found
  const isNamed = id === engineId && declaredVersion === version
  if (!isNamed || !isFunction(score) || !isFunction(explain) || !Array.isArray(halves))
    throw new EngineRefused('unusable', `${path} is not the engine its name tells`)
  return {
    id: engineId,
    version,
    binarySha256,
    path,
    size: bytes.length,
    parameters: Object(tuned),
    tableSha256: sha256Hex(canonicalJson(halves)),
    score: score as Engine['score'],
    explain: explain as Engine['explain'],
  }
}

async function moduleOf(bytes: Buffer, path: string): Promise<Record<string, unknown>> {
  try {
    return Object(await import(`data:text/javascript;base64,${bytes.toString('base64')}`))
  } catch (error) {
    throw new EngineRefused('unusable', `${path} cannot be loaded`, { cause: error })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

export interface EngineChange {
  /** Null for the first engine. */
  previousVersion: string | null
  /**
   * `none`: there is no engine before. `compatible`: the engine before also computes every golden
   * vector of this one correctly. `score_changing`: it does not.
   */
  change: 'none' | 'compatible' | 'score_changing'
}

/**
 * Runs the previous engine on the golden vectors of this release.
 * @throws EngineRefused if the previous engine cannot be run
 */
export async function engineChange(root?: string): Promise<EngineChange> {
  const previous: PastEngine | null = await previousEngine(root)
  if (previous === null) return { previousVersion: null, change: 'none' }
  const isSame = firstWrong(previous.score, readGoldens(root)) === null
  return {
    previousVersion: previous.version,
    change: isSame ? 'compatible' : 'score_changing',
  }
}
