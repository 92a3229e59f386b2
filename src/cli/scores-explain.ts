/**
 * `assay scores explain`: why a score is what it is, item by item, from the evidence, the engine and the rules that made it. For the
 * operator and the person alone: it tells of evidence what no reader of a score may see.
 */
import type { Config } from '../config/config.ts'
import { findWorkerEvidence } from '../evidence/store.ts'
import { systemClock } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import type { Db } from '../platform/db/db.ts'
import { EngineRefused, type PastEngine } from '../scores/engine.ts'
import { findSnapshot } from '../scores/history-store.ts'
import { inputOf, MakersMissing, openMakers } from '../scores/replay.ts'
import { findActiveSnapshots } from '../scores/store.ts'
import { dateOfDay } from '../scoring-core/civil-date.ts'
import type { Evidence, ScoreInput } from '../scoring-core/evidence.ts'
import type { Explanation, ItemExplanation, SkillExplanation } from '../scoring-core/explain.ts'
import { findWorkers } from '../workers/store.ts'
import { withDatabase } from './context.ts'
import { failure, unknownWorker, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'
import { releasedVocabulary } from './released-vocabulary.ts'
import { isSnapshotId, noSuchScore, snapshotIdGiven } from './score-name.ts'
import { releasedEngineHere } from './scoring-here.ts'
import { alignedLines } from './table.ts'

export interface ExplainFlags {
  /** What the evidence of a person comes to today, whether or not it was issued. */
  now?: boolean
}

/** `given` is a username, or the id of a score. */
export function explainScoreCommand(
  config: Config,
  given: string,
  flags: ExplainFlags,
): Promise<Outcome> {
  if (isSnapshotId(given)) {
    if (flags.now) throw usageError('--now takes a username: a score is of its day.')
    const id = snapshotIdGiven(given)
    return withDatabase(config, (db) => explainStored(db, id))
  }
  const username = usernameGiven(given)
  return withDatabase(config, async (db) => {
    const [person] = await findWorkers(db, { usernames: [username] })
    if (person === undefined) throw unknownWorker(username)
    if (flags.now) return explainNow(db, person.workerId)
    const [active] = await findActiveSnapshots(db, [person.workerId])
    if (active === undefined)
      throw failure(`${username} has no score: --now tells what the evidence comes to.`)
    return explainStored(db, active.snapshotId)
  })
}

async function explainStored(db: Db, id: Buffer): Promise<Outcome> {
  const snapshotId = id.toString('hex')
  const stored = await findSnapshot(db, id)
  if (stored === undefined) throw failure(noSuchScore(id))
  try {
    const { engine, vocabulary } = await openMakers(db)(stored)
    const { workerId } = stored
    return explained(engine, inputOf(stored, vocabulary), { snapshotId, workerId })
  } catch (error) {
    if (!(error instanceof MakersMissing || error instanceof EngineRefused)) throw error
    throw failure(`The score cannot be explained: ${error.message}.`, { cause: error })
  }
}

/** What does not count any more is listed as excluded. */
async function explainNow(db: Db, workerId: string): Promise<Outcome> {
  const engine = await releasedEngineHere()
  const found = await findWorkerEvidence(db, [workerId])
  const evidence = found.map(
    ({ state, ...item }): Evidence => ({ ...item, excluded: state !== 'active' }),
  )
  const asOfDay = Math.floor(systemClock().getTime() / 86_400_000)
  const input = { evidence, vocabulary: releasedVocabulary(), asOfDay }
  return explained(engine, input, { snapshotId: null, workerId })
}

interface Named {
  /** Null of what was not issued. */
  snapshotId: string | null
  workerId: string
}

function explained(engine: PastEngine, input: ScoreInput, named: Named): Outcome {
  const explanation = engine.explain(input)
  const asOf = dateOfDay(input.asOfDay)
  const { version, binarySha256 } = engine
  const evidence = new Map(input.evidence.map((item) => [item.id, item]))
  const items = explanation.items.map((told): Item => {
    const {
      type = '',
      group = '',
      assurance = 0,
      value = 0,
      observedDay = 0,
    } = evidence.get(told.id) ?? {}
    return { ...told, type, group, assurance, value, observedOn: dateOfDay(observedDay) }
  })
  const { result, skills } = explanation
  const report = {
    ok: true,
    ...named,
    asOf,
    engine: { version, binarySha256 },
    result,
    items,
    skills,
  }
  const { score, low, high, band, evidenceCount, sourceCount } = result
  const head = `${score} [${low}, ${high}] ${band}: ${counted(evidenceCount, 'item')} of ${counted(sourceCount, 'group')}, as of ${asOf}, engine ${version}`
  return done(report, [head, ...explanation.skills.flatMap(linesOf), ...dropped(items)])

  function linesOf({ skillId, mass, weighted, raise }: SkillExplanation): string[] {
    const skill = skillOf(explanation, skillId)
    return [
      '',
      `${skillId}  ${skill}  N ${mass}  A ${weighted}`,
      `  raises low most: ${raise.type} of ${raise.value} from a new source of full assurance, to ${raise.low}`,
      ...used(items.filter((item) => item.skillId === skillId && item.reason === null)),
    ]
  }
}

/** An item with what the engine made of it. */
interface Item extends ItemExplanation {
  type: string
  group: string
  assurance: number
  value: number
  observedOn: string
}

function skillOf({ result }: Explanation, skillId: string): string {
  const skill = result.skills.find((one) => one.skillId === skillId)
  if (skill === undefined) return ''
  const { score, low, high, level, verified } = skill
  return `${score} [${low}, ${high}] ${level}${verified ? ', verified' : ''}`
}

const usedHead = 'evidence,type,group,value,assurance,seen,base,decay,rank,mass,effect,halves in'

/** The heaviest first. */
function used(items: readonly Item[]): string[] {
  const rows = items
    .toSorted((a, b) => b.mass - a.mass)
    .map((item) => [
      item.id,
      item.type,
      item.group,
      `${item.value}`,
      `${item.assurance}`,
      item.observedOn,
      `${item.base}`,
      `${((item.decay * 100) / 2 ** 20).toFixed(1)} %`,
      `${item.rank}`,
      `${item.mass}`,
      `${item.effect > 0 ? '+' : ''}${item.effect}`,
      item.halvesInDays === null ? 'never' : `${item.halvesInDays} days`,
    ])
  return alignedLines([usedHead.split(','), ...rows])
}

function dropped(items: readonly Item[]): string[] {
  const rows = items
    .filter(({ reason }) => reason !== null)
    .map(({ id, skillId, type, group, reason }) => [id, skillId, type, group, `${reason}`])
  if (rows.length === 0) return []
  return [
    '',
    'not counted',
    ...alignedLines([['evidence', 'skill', 'type', 'group', 'why'], ...rows]),
  ]
}
