/** `assay scores`: the scores that were computed, their explanation, and their replay. */
import type { Command } from 'commander'
import { releasedVocabulary } from '../../app/released-vocabulary.ts'
import { releasedEngine } from '../../app/scoring.ts'
import { findWorkerEvidence } from '../../evidence/store.ts'
import { counted } from '../../platform/counted.ts'
import type { Db } from '../../platform/db/db.ts'
import { EngineRefused, type PastEngine } from '../../scores/engine.ts'
import { countSnapshots, findSnapshot, type StoredSnapshot } from '../../scores/history-store.ts'
import { scoreOperations } from '../../scores/operations.ts'
import { inputOf, MakersMissing, openMakers, replay } from '../../scores/replay.ts'
import { type ReplayTally, replayAll, type UnavailableEngine } from '../../scores/replay-all.ts'
import { findActiveSnapshots } from '../../scores/store.ts'
import { dateOfDay } from '../../scoring-core/civil-date.ts'
import type { Evidence, ScoreInput } from '../../scoring-core/evidence.ts'
import type { Explanation, ItemExplanation, SkillExplanation } from '../../scoring-core/explain.ts'
import { isSha256, parseSha256, parseUsername } from '../args.ts'
import { act, command } from '../command.ts'
import { type CommandContext, withContext } from '../context.ts'
import { failure, interrupted, usageError } from '../fail.ts'
import { workerNamed } from '../names.ts'
import { declareOperations } from '../operation-command.ts'
import { done, note, type Outcome } from '../output.ts'
import { type Columns, renderTable } from '../render.ts'
import { renderProgress } from '../render-progress.ts'

const exampleId = '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62'

export function declareCommand(scores: Command): void {
  declareOperations(scores, scoreOperations)

  command(
    scores,
    'explain',
    'Explain a score, item by item',
    'assay scores explain ada-lovelace --now',
  )
    .argument('<score>', 'a username, or the id of a score', parseScore)
    .option('--now', 'explain what the evidence of the worker gives today')
    .action(act(explain))

  command(
    scores,
    'replay',
    'Compute scores again as they were made: ends with 0 all agree, 1 any differs, 2 an engine is not available',
    `assay scores replay ${exampleId}`,
  )
    .argument('[score]', 'the id of a score', parseSha256)
    .option('--all', 'every score that was ever issued')
    .action(act(replayScores, { failureCode: 2 }))
}

type ScoreName = { id: Buffer } | { username: string }

function parseScore(text: string): ScoreName {
  if (isSha256(text)) return { id: Buffer.from(text, 'hex') }
  return { username: parseUsername(text) }
}

function explain(named: ScoreName, { now = false }: { now?: boolean }): Promise<Outcome> {
  if ('id' in named) {
    if (now) throw usageError('--now explains a worker. Use a username instead of the score id.')
    return withContext(({ db }) => explainStored(db, named.id))
  }
  const { username } = named
  return withContext(async (context) => {
    const { db } = context
    const { workerId } = await workerNamed(db, username)
    if (now) return explainNow(context, workerId)
    const [active] = await findActiveSnapshots(db, [workerId])
    if (active === undefined)
      throw failure(`${username} has no score. Add --now to explain what the evidence gives today.`)
    return explainStored(db, active.snapshotId)
  })
}

async function explainStored(db: Db, id: Buffer): Promise<Outcome> {
  const snapshotId = id.toString('hex')
  const stored = await findSnapshot(db, id)
  if (stored === undefined) throw failure(unknownScore(snapshotId))
  try {
    const { engine, vocabulary } = await openMakers(db)(stored)
    const { workerId } = stored
    return explained(engine, inputOf(stored, vocabulary), { snapshotId, workerId })
  } catch (error) {
    if (!(error instanceof MakersMissing || error instanceof EngineRefused)) throw error
    throw failure(`The score ${snapshotId} cannot be explained: ${error.message}.`, {
      cause: error,
    })
  }
}

function unknownScore(id: string): string {
  return `No score has the id ${id}, or its evidence was erased with its worker.`
}

/** Evidence that no longer counts is shown as excluded. */
async function explainNow({ db, clock }: CommandContext, workerId: string): Promise<Outcome> {
  const engine = await releasedEngine()
  const found = await findWorkerEvidence(db, [workerId])
  const evidence = found.map(
    ({ state, ...item }): Evidence => ({ ...item, excluded: state !== 'active' }),
  )
  const asOfDay = Math.floor(clock().getTime() / 86_400_000)
  const input = { evidence, vocabulary: releasedVocabulary(), asOfDay }
  return explained(engine, input, { snapshotId: null, workerId })
}

interface Named {
  /** Null if the score was not issued. */
  snapshotId: string | null
  workerId: string
}

function explained(engine: PastEngine, input: ScoreInput, named: Named): Outcome {
  const explanation = engine.explain(input)
  const asOf = dateOfDay(input.asOfDay)
  const { version, binarySha256 } = engine
  const evidence = new Map(input.evidence.map((item) => [item.id, item]))
  const items = explanation.items.map((item): Item => {
    const {
      type = '',
      group = '',
      assurance = 0,
      value = 0,
      observedDay = 0,
    } = evidence.get(item.id) ?? {}
    return { ...item, type, group, assurance, value, observedOn: dateOfDay(observedDay) }
  })
  const { result, skills } = explanation
  const report = { ...named, asOf, engine: { version, binarySha256 }, result, items, skills }
  const { score, low, high, band, evidenceCount, sourceCount } = result
  const head = `${score} [${low}, ${high}] ${band}: ${counted(evidenceCount, 'item')} of ${counted(sourceCount, 'group')}, as of ${asOf}, engine ${version}`
  const rendered = skills.flatMap((skill) => renderSkill(explanation, skill, items))
  return done(report, [head, ...rendered, ...renderDropped(items)])
}

/** An item and its weight in the score. */
interface Item extends ItemExplanation {
  type: string
  group: string
  assurance: number
  value: number
  observedOn: string
}

const itemColumns: Columns<Item> = {
  evidence: ({ id }) => id,
  type: ({ type }) => type,
  group: ({ group }) => group,
  value: ({ value }) => value,
  assurance: ({ assurance }) => assurance,
  observed: ({ observedOn }) => observedOn,
  base: ({ base }) => base,
  decay: ({ decay }) => `${((decay * 100) / 2 ** 20).toFixed(1)} %`,
  rank: ({ rank }) => rank,
  mass: ({ mass }) => mass,
  effect: ({ effect }) => `${effect > 0 ? '+' : ''}${effect}`,
  halvesIn: ({ halvesInDays }) => (halvesInDays === null ? 'never' : `${halvesInDays} days`),
}

/** Renders a skill with its items, the heaviest first. */
function renderSkill(
  { result }: Explanation,
  { skillId, mass, weighted, raise }: SkillExplanation,
  items: readonly Item[],
): string[] {
  const skill = result.skills.find((one) => one.skillId === skillId)
  const score =
    skill === undefined
      ? ''
      : `${skill.score} [${skill.low}, ${skill.high}] ${skill.level}${skill.verified ? ', verified' : ''}`
  const own = items.filter((item) => item.skillId === skillId && item.reason === null)
  const heaviest = own.toSorted((a, b) => b.mass - a.mass)
  return [
    '',
    `${skillId}  ${score}  N ${mass}  A ${weighted}`,
    `  raises low most: ${raise.type} of ${raise.value} from a new source of full assurance, to ${raise.low}`,
    ...renderTable(heaviest, itemColumns).map((line) => `  ${line}`),
  ]
}

const droppedColumns: Columns<Item> = {
  evidence: ({ id }) => id,
  skill: ({ skillId }) => skillId,
  type: ({ type }) => type,
  group: ({ group }) => group,
  reason: ({ reason }) => reason,
}

function renderDropped(items: readonly Item[]): string[] {
  const dropped = items.filter(({ reason }) => reason !== null)
  if (dropped.length === 0) return []
  return ['', 'not counted', ...renderTable(dropped, droppedColumns).map((line) => `  ${line}`)]
}

function replayScores(
  id: string | undefined,
  { all = false }: { all?: boolean },
): Promise<Outcome> {
  if ((id !== undefined) === all) throw usageError('Use either the id of a score or --all.')
  return withContext(
    (context) => (id === undefined ? replayEvery(context) : replayOne(context, id)),
    {
      watchesSignal: all,
    },
  )
}

async function replayOne({ db }: CommandContext, snapshotId: string): Promise<Outcome> {
  const stored = await findSnapshot(db, Buffer.from(snapshotId, 'hex'))
  if (stored === undefined) throw usageError(unknownScore(snapshotId))
  const result = await replay(stored, openMakers(db))
  if (result.outcome === 'engine unavailable') {
    const engine = engineOf(stored, result.reason)
    const report = { replayed: 0, snapshotId, difference: null, engine }
    return done(report, [`The score could not be computed again. ${renderUnavailable(engine)}`], 2)
  }
  const difference = result.outcome === 'differs' ? result.difference : null
  const report = { replayed: 1, snapshotId, difference }
  if (difference !== null) return done(report, [`DIFFERS: ${difference}.`], 1)
  const { asOf, engineVersion, score, low, high } = stored
  return done(report, [`agrees: ${score} [${low}, ${high}] of ${asOf}, engine ${engineVersion}`])
}

function engineOf(
  { engineVersion, engineSha256 }: StoredSnapshot,
  reason: string,
): UnavailableEngine {
  return { version: engineVersion, sha256: engineSha256.toString('hex'), reason }
}

function renderUnavailable({ version, sha256, reason }: UnavailableEngine): string {
  return `Engine ${version} (SHA-256 ${sha256}) is not available: ${reason}. Put its released file back into engines/ and run the command again.`
}

/** The first differing scores are also printed at once. */
const differingNotedMax = 20

async function replayEvery({ db, signal }: CommandContext): Promise<Outcome> {
  const progress = renderProgress(await countSnapshots(db), 'scores')
  let noted = 0
  try {
    const tally = await replayAll(db, {
      onDifference({ snapshotId, difference }) {
        if (++noted <= differingNotedMax) note(`DIFFERS ${snapshotId}: ${difference}`)
      },
      onPage({ replayed, notReplayed, erased }) {
        progress.update(replayed, replayed + notReplayed + erased)
        if (signal.aborted) throw interrupted()
      },
    })
    return renderReplay(tally)
  } finally {
    progress.end()
  }
}

export function renderReplay(tally: ReplayTally): Outcome {
  const { replayed, notReplayed, erased, differ, unavailable } = tally
  const verdict = differ === 0 ? 'all agree' : `${differ} DIFFER`
  const left = erased === 0 ? '' : `; ${erased} were erased with their workers`
  const missing = notReplayed === 0 ? '' : `; ${notReplayed} could not be computed again`
  const lines = [
    `${counted(replayed, 'score')} computed again: ${verdict}${left}${missing}`,
    ...unavailable.map(
      (engine) => `${counted(engine.scores, 'score')}: ${renderUnavailable(engine)}`,
    ),
  ]
  return done({ ...tally }, lines, differ > 0 ? 1 : notReplayed > 0 ? 2 : 0)
}
