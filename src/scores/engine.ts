/**
 * The engine that computes scores: the checked-in bundle of the scoring core. Its hash is that of the bytes that are run, and the golden
 * vectors are run on that very code before it may score anyone, so that an altered file issues nothing.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { ScoreInput } from '../scoring-core/evidence.ts'
import type { Explanation } from '../scoring-core/explain.ts'
import { engineId, engineVersion, type parameters } from '../scoring-core/parameters.ts'
import type { ScoreResult } from '../scoring-core/score.ts'
import { firstWrong, type Goldens, readGoldens } from './goldens.ts'

export interface Engine {
  id: typeof engineId
  version: string
  /** Of the bytes of the bundle that runs, 64 lowercase digits. */
  binarySha256: string
  /** Of the golden vectors it was held against: over the lines that `sha256sum` prints for their files. */
  goldenSha256: string
  /** Relative to the root of the project, with `/`. */
  path: string
  /** Of the bundle, in bytes. */
  size: number
  /** What it is tuned by, as the bundle itself has it. */
  parameters: typeof parameters
  /** Of the canonical JSON of its table of decay. */
  tableSha256: string
  score: (input: ScoreInput) => ScoreResult
  explain: (input: ScoreInput) => Explanation
}

/** An engine of an earlier release, to replay what it computed: its hash is what it is known by. */
export type PastEngine = Omit<Engine, 'goldenSha256'>

/** What this release runs, whether or not it can be loaded. */
export const releasedEngine = { id: engineId, version: engineVersion } as const

export type EngineFault =
  /** No bundle of that version or hash, more than one of a version, or no golden vectors. */
  | 'missing'
  /** The bytes are not those its name or the credential tells. */
  | 'altered'
  /** It cannot be run, or is another engine or version than its name tells. */
  | 'unusable'
  /** A golden vector comes out differently. */
  | 'wrong_result'
  /** The operator found it to be wrong. */
  | 'recalled'

/** No score may be computed: issuing answers 503 and readiness turns red. The message is for the operator. */
export class EngineRefused extends Error {
  override readonly name = 'EngineRefused'
  readonly fault: EngineFault

  constructor(fault: EngineFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.fault = fault
  }
}

/** The root of the project. */
const ownRoot = join(import.meta.dirname, '../..')

/**
 * The engine of this release, held against the golden vectors (some milliseconds).
 * @throws EngineRefused
 */
export async function loadEngine(root = ownRoot): Promise<Engine> {
  const start = `${engineId}-${engineVersion}-`
  const engine = await load(
    root,
    bundleFound(root, (name) => name.startsWith(start), `version ${engineVersion}`),
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
 * The engine whose bundle has this SHA-256 (64 lowercase digits), of whatever release.
 * @throws EngineRefused
 */
export async function loadEngineOf(binarySha256: string, root = ownRoot): Promise<PastEngine> {
  const end = `-${binarySha256.slice(0, 12)}.mjs`
  const path = bundleFound(root, (name) => name.endsWith(end), `SHA-256 ${binarySha256}`)
  const engine = await load(root, path)
  if (engine.binarySha256 !== binarySha256)
    throw new EngineRefused(
      'altered',
      `${path} has the SHA-256 ${engine.binarySha256}, not ${binarySha256}`,
    )
  return engine
}

/**
 * The engine of the highest version below that of this release, or null.
 * @throws EngineRefused
 */
export async function previousEngine(root = ownRoot): Promise<PastEngine | null> {
  const versions = namesIn(join(root, 'engines'))
    .map((name) => /-([^-]+)-[0-9a-f]{12}\.mjs$/.exec(name)?.[1] ?? '')
    .filter((version) => isBefore(version, engineVersion))
    .sort((a, b) => (isBefore(a, b) ? -1 : 1))
  const version = versions.at(-1)
  if (version === undefined) return null
  const start = `${engineId}-${version}-`
  return load(
    root,
    bundleFound(root, (name) => name.startsWith(start), `version ${version}`),
  )
}

/** Every engine that lies in `engines/`, by the bytes of its file: none of them is run. Throws `EngineRefused`. */
export function keptEngines(root = ownRoot): { version: string; binarySha256: string }[] {
  return namesIn(join(root, 'engines')).flatMap((name) => {
    const version = /-([^-]+)-[0-9a-f]{12}\.mjs$/.exec(name)?.[1]
    return version === undefined
      ? []
      : { version, binarySha256: sha256Hex(read(root, `engines/${name}`)) }
  })
}

/** By semantic versioning; engines have no pre-releases. */
function isBefore(version: string, other: string): boolean {
  const theirs = other.split('.').map(Number)
  for (const [at, number] of version.split('.').map(Number).entries()) {
    const difference = number - (theirs[at] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

function bundleFound(root: string, fits: (name: string) => boolean, wanted: string): string {
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

/** What is hashed is what is run: the bytes are read once and imported from memory. */
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
  const { engineId: id, engineVersion: told, score, explain, parameters: tuned, halves } = found
  const isNamed = id === engineId && told === version
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
