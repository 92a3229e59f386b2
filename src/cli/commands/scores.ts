/** `assay scores`: the scores that were computed, their explanation, and their replay. */
import type { Command } from 'commander'
import type { OutputOf } from '../../operations/perform.ts'
import { counted } from '../../platform/counted.ts'
import { renderFields } from '../../platform/render-fields.ts'
import { type Columns, renderTable, sameNames } from '../../platform/render-table.ts'
import { countSnapshots, findSnapshot, type StoredSnapshot } from '../../scoring/api.ts'
import { scoresExplain } from '../../scoring/scores/explain-operation.ts'
import { scoreOperations } from '../../scoring/scores/operations.ts'
import {
  openMakers,
  type ReplayTally,
  replay,
  replayAll,
  type UnavailableEngine,
} from '../../scoring/scores/replay.ts'
import { scoresReliability } from '../../scoring/scores/reports/measure-operations.ts'
import { parseSha256 } from '../args.ts'
import { act, command } from '../command.ts'
import { type CommandContext, withContext } from '../context.ts'
import { declareOperation, declareOperations, runOperation } from '../operation-command.ts'
import { done, interrupted, note, type Outcome, usageError } from '../output.ts'
import { renderProgress } from '../render.ts'
import { declareReports } from '../score-reports.ts'

const exampleId = '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62'

export function declareCommand(scores: Command): void {
  declareOperations(scores, [...scoreOperations, scoresReliability])
  declareOperation(scores, scoresExplain, async (operation, texts, flags) => {
    const outcome = await runOperation(operation, texts, flags)
    return { ...outcome, lines: renderExplanation(outcome.report as unknown as Explained) }
  })
  declareReports(scores)

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

type Explained = OutputOf<typeof scoresExplain>
type Item = Explained['items'][number]

/** A skill with its items, the heaviest first. */
function renderExplanation({ result, asOf, engine, endsOn, skills, items }: Explained): string[] {
  const dropped = items.filter(({ reason }) => reason !== null)
  return [
    ...renderFields({ ...result, asOf, engine: engine.version, withdrawnOn: endsOn }),
    ...skills.flatMap(({ raise, ...skill }) => {
      const own = items.filter(({ skillId, reason }) => skillId === skill.skillId && !reason)
      const heaviest = own.toSorted((a, b) => b.mass - a.mass)
      const best = raise && `low ${raise.low}, by ${raise.type} of ${raise.value} from a new group`
      return ['', ...renderFields({ ...skill, raise: best }), ...renderTable(heaviest, itemColumns)]
    }),
    ...(dropped.length === 0 ? [] : ['', 'Not counted:', ...renderTable(dropped, droppedColumns)]),
  ]
}

const itemColumns: Columns<Item> = {
  evidence: 'id',
  ...sameNames('type', 'group', 'value', 'assurance'),
  observed: 'observedOn',
  weight: 'weight',
  left: ({ share }) => `${((share * 100) / 2 ** 20).toFixed(1)} %`,
  mass: ({ mass }) => Math.floor(mass / 2 ** 20),
  pull: ({ pull }) => withSign(Math.round(pull / 2 ** 20)),
  effect: ({ effect }) => (effect === null ? null : withSign(effect)),
  halvesIn: ({ halvesInDays }) => (halvesInDays === null ? 'never' : `${halvesInDays} days`),
}

function withSign(number: number): string {
  return `${number > 0 ? '+' : ''}${number}`
}

const droppedColumns: Columns<Item> = {
  evidence: 'id',
  skill: 'skillId',
  ...sameNames('type', 'group', 'reason'),
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
  if (stored === undefined)
    throw usageError(
      `No score has the id ${snapshotId}, or its evidence was erased with its worker.`,
    )
  const result = await replay(stored, openMakers(db))
  if (result.verdict === 'engine unavailable') {
    const engine = engineOf(stored, result.reason)
    const report = { replayed: 0, snapshotId, difference: null, engine }
    return done(report, [`The score could not be computed again. ${renderUnavailable(engine)}`], 2)
  }
  const difference = result.verdict === 'differs' ? result.difference : null
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
  using progress = renderProgress(await countSnapshots(db), 'scores')
  let noted = 0
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
