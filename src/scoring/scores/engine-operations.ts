/** The operations on engines: those in engines/, and those that made a score. */
import { type Static, Type } from 'typebox'
import { digestField, moreField, orNull, time } from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { keptEngines, releasedEngine } from './engine.ts'
import {
  countScoresByEngine,
  type EngineRecall,
  findRecall,
  findRecalls,
  markPage,
  type RecallReason,
  recallEngine,
  recallReasons,
} from './recall-engine.ts'

const { read, change } = operationsFor<object>()

const version = Type.String({ maxLength: 64, description: 'version of the engine' })
const reason = Type.Enum([...recallReasons], { description: recallReasons.join(', ') })

const engine = closedObject({
  version: Type.String(),
  sha256: Type.String({ description: 'Of its bundle.' }),
  isKept: Type.Boolean({ description: 'Its bundle is in engines/: its scores can be replayed.' }),
  isReleased: Type.Boolean({ description: 'It is the engine of this release.' }),
  scores: Type.Integer(),
  active: Type.Integer({ description: 'Active scores among them.' }),
  recalledAt: orNull(time, 'Null unless it was recalled.'),
  reason: orNull(reason, 'Null unless it was recalled.'),
})

export const enginesList = read({
  name: 'engines list',
  http: 'GET /engines',
  summary: 'Show every engine that is in engines/ or made a score',
  who: { operator: 'viewer' },
  output: closedObject({ engines: Type.Array(engine) }),
  none: 'There is no engine.',
  columns: {
    version: 'version',
    state: ({ isReleased, isKept }) =>
      isReleased ? 'of this release' : isKept ? 'available' : 'not available',
    scores: 'scores',
    active: 'active',
    recalled: ({ recalledAt, reason: why }) => recalledAt && `${recalledAt} (${why})`,
    sha256: 'sha256',
  },
  async run(db) {
    const engines = await knownEngines(db)
    const none = { recalledAt: null, reason: null }
    return { engines: engines.map(({ recall, ...facts }) => ({ ...facts, ...(recall ?? none) })) }
  },
})

const recalled = closedObject({
  version: Type.String(),
  sha256: Type.String(),
  isReleased: Type.Boolean({ description: 'It is the engine of this release.' }),
  recalledAt: time,
  reason,
  active: Type.Integer({
    description: 'Its active scores, if this call recalled it; 0 if it was recalled before.',
  }),
  marked: Type.Integer({ description: 'Workers that this call marked for a new score.' }),
  revoked: Type.Integer({
    description: 'Credentials of its earlier scores that this call revoked.',
  }),
  more: moreField,
})

export const enginesRecall = change({
  name: 'engines recall',
  http: 'POST /engines/{sha256}/recall',
  summary: 'Declare an engine wrong for ever: all its scores are corrected',
  who: { operator: 'admin' },
  path: { sha256: digestField('the hash of its bundle', 'engines list') },
  input: { version, reason },
  positional: ['version', 'sha256'],
  output: recalled,
  refusals: ['engine_not_found'],
  example: { sha256: '0123456789abcdef'.repeat(4), version: '1.0.0', reason: 'wrong_result' },
  audit: 'engines.recalled',
  danger:
    'No process computes a score with the engine any more, its scores are replaced as corrections, and their credentials are revoked.',
  when: (record) => Reflect.get(record, 'recalledAt') === null,
  renderLines: recalledLines,
  async run(tx, { sha256, version: named, reason: why }, { by, now }) {
    const engineSha256 = Buffer.from(sha256, 'hex')
    const known = await findRecall(tx, engineSha256)
    if (known !== undefined) {
      if (known.engineVersion !== named) return unknownEngine(named, sha256)
      const { workers, revoked, isLast } = await markPage(tx, engineSha256, now)
      const counts = { active: 0, marked: workers, revoked }
      return unchanged({ ...recallRow(known), ...counts }, { more: !isLast })
    }
    const engines = await knownEngines(tx)
    const found = engines.find((one) => one.sha256 === sha256 && one.version === named)
    if (found === undefined) return unknownEngine(named, sha256)
    const { active } = found
    const recall = { engineSha256, engineVersion: named, reason: why, recalledAt: now }
    const isNew = await recallEngine(tx, recall, by)
    const output = { ...recallRow(recall), active, marked: 0, revoked: 0 }
    // The pages follow in transactions of their own: this one makes every scoring wait.
    if (!isNew) return unchanged({ ...output, active: 0 }, { more: true })
    const details = { version: named, reason: why, active }
    return changed(output, { subjects: [sha256], details }, { more: true })
  },
})

function unknownEngine(named: string, sha256: string) {
  return refuse('engine_not_found', { message: `No engine ${named} has the SHA-256 ${sha256}.` })
}

function recallRow({ engineSha256, engineVersion, reason: why, recalledAt }: EngineRecall) {
  const sha256 = engineSha256.toString('hex')
  return {
    version: engineVersion,
    sha256,
    isReleased: isReleasedEngine({ sha256, version: engineVersion }),
    recalledAt,
    reason: why,
  }
}

function recalledLines({
  version: named,
  sha256,
  recalledAt,
  reason: why,
  isReleased,
  active,
  marked,
  revoked,
  more,
}: Static<typeof recalled>): string[] {
  const scores = counted(Math.max(active, marked), 'active score')
  return [
    `The engine ${named} (${sha256}) is recalled since ${recalledAt} (${why}).`,
    ...(revoked > 0 ? [`${counted(revoked, 'credential')} of earlier scores revoked.`] : []),
    ...(isReleased
      ? [
          'It is the engine of this release: no score is computed until you install another one.',
          `${scores} and the credentials stay until then, and are replaced as corrections.`,
        ]
      : active + marked > 0
        ? [
            `The engine of this release replaces ${scores} as corrections: the credentials are revoked, and score.revised is sent.`,
            'A jobs process replaces the scores within seconds; `assay recompute` does it now.',
          ]
        : []),
    ...(more === true
      ? ['Scores are left to mark: repeat the command, or wait for a jobs process.']
      : []),
  ]
}

/** In the order of the help. */
export const engineOperations = [enginesList, enginesRecall] as const

interface KnownEngine {
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
async function knownEngines(db: Queryable): Promise<KnownEngine[]> {
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

function isReleasedEngine(
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
