/** `assay engines`: the engines that compute scores. */
import type { Command } from 'commander'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import { type KnownEngine, knownEngines } from '../../scores/known-engines.ts'
import { markRecalled, recallEngine } from '../../scores/recall-engine.ts'
import { type RecallReason, recallReasons } from '../../scores/recall-store.ts'
import { byOption, oneOf, parseSha256 } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, interrupted, usageError } from '../fail.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed } from '../render.ts'

export function declareCommand(engines: Command): void {
  command(
    engines,
    'list',
    'Show every engine that is in engines/ or made a score',
    'assay engines list',
  ).action(act(list))

  command(
    engines,
    'recall',
    'Declare an engine wrong for ever: all its scores are corrected',
    `assay engines recall 1.0.0 ${'0123456789abcdef'.repeat(4)} --reason wrong_result --yes`,
  )
    .argument('<version>', 'version of the engine, which `assay engines list` shows')
    .argument('<sha256>', 'SHA-256 of its bundle', parseSha256)
    .requiredOption('--reason <reason>', recallReasons.join(', '), oneOf(recallReasons))
    .option('--yes', 'go ahead; without it, the command explains the consequences')
    .option(...byOption)
    .action(act(recall))
}

const columns: Columns<KnownEngine> = {
  version: ({ version }) => version,
  state: ({ isReleased, isKept }) =>
    isReleased ? 'of this release' : isKept ? 'available' : 'not available',
  scores: ({ scores }) => scores,
  active: ({ active }) => active,
  recalled: ({ recall }) => recall && `${wireTime(recall.recalledAt)} (${recall.reason})`,
  sha256: ({ sha256 }) => sha256,
}

function list(): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const rows = await knownEngines(db)
    const engines = rows.map(({ recall, ...engine }) => ({
      ...engine,
      recalledAt: recall && wireTime(recall.recalledAt),
      reason: recall && recall.reason,
    }))
    return listed({ engines }, { rows, columns, none: 'There is no engine.' })
  })
}

interface RecallFlags {
  reason: RecallReason
  yes?: boolean
  by: string
}

function recall(
  version: string,
  sha256: string,
  { yes = false, ...request }: RecallFlags,
): Promise<Outcome> {
  return withContext(
    async (context) => {
      const { db, clock, signal } = context
      const known = await knownEngines(db)
      const engine = known.find((one) => one.sha256 === sha256 && one.version === version)
      const named = { version, sha256 }
      if (engine === undefined)
        throw failure(
          `No engine ${version} has the SHA-256 ${sha256}. \`assay engines list\` shows all engines.`,
          { report: { outcome: 'not_found', ...named } },
        )
      if (engine.recall === null && !yes)
        throw usageError(consequencesOf(engine).join('\n'), {
          report: { outcome: 'not_confirmed', ...named },
        })
      if (signal.aborted) throw interrupted()
      const isNew = await recallEngine(context, engine, request)
      // Continues an earlier run that was interrupted here.
      const isMarked = await markRecalled(db, clock(), signal)
      const outcome = isNew ? 'recalled' : 'already_recalled'
      const report = { outcome, ...named, active: engine.active, interrupted: !isMarked }
      const lines = [
        `The engine ${version} (${sha256}) ${isNew ? 'is recalled.' : `was recalled before${since(engine)}.`}`,
        ...(isMarked ? [] : ['Interrupted. A jobs process marks the scores that are left.']),
        ...nextSteps(engine),
      ]
      return done(report, lines, isMarked ? 0 : 1)
    },
    { watchesSignal: true },
  )
}

/** Names the first recall, which stays. */
function since({ recall }: KnownEngine): string {
  return recall === null ? '' : `, at ${wireTime(recall.recalledAt)} (${recall.reason})`
}

function consequencesOf(engine: KnownEngine): string[] {
  return [
    `This declares the engine ${engine.version} wrong for ever:`,
    '- no process computes a score with it any more;',
    '- the credentials of its earlier scores are revoked;',
    `- ${fateOfScores(engine)}.`,
    ...nextSteps(engine),
    'Nothing was changed. To go ahead, repeat the command with --yes.',
  ]
}

function fateOfScores({ isReleased, active }: KnownEngine): string {
  const scores = counted(active, 'active score')
  return isReleased
    ? `${scores} and the credentials stay until you install a release with another engine, which replaces them as corrections`
    : `the engine of this release replaces ${scores} as corrections: the credentials are revoked, and score.revised is sent`
}

function nextSteps({ isReleased, active }: KnownEngine): string[] {
  if (isReleased)
    return ['It is the engine of this release: no score is computed until you install another one.']
  return active === 0
    ? []
    : ['A jobs process replaces the scores within seconds; `assay recompute` does it now.']
}
