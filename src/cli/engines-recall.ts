/** `assay engines recall`: for an engine that was found to be wrong. Asks for --yes, for there is no way back. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { markRecalled, recallEngine } from '../scores/recall-engine.ts'
import { type RecallReason, recallReasons } from '../scores/recall-store.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { type KnownEngine, knownEngines } from './known-engines.ts'
import { done, type Outcome } from './output.ts'
import { actorGiven } from './person.ts'

export interface RecallFlags {
  reason: string
  yes?: boolean
  by: string
}

export function recallEngineCommand(
  config: Config,
  given: { version: string; sha256: string },
  { yes, ...flags }: RecallFlags,
): Promise<Outcome> {
  const { version } = given
  const sha256 = digestGiven(given.sha256)
  const wish = { reason: reasonOf(flags.reason), actor: actorGiven(flags.by) }
  return withDatabase(config, async (db) => {
    const known = await knownEngines(db)
    const engine = known.find((one) => one.sha256 === sha256 && one.version === version)
    if (engine === undefined) return unknown(version, sha256)
    if (engine.recall === null && !yes)
      return done(
        { ok: false, outcome: 'not_confirmed', ...nameOf(engine) },
        consequences(engine),
        2,
      )
    const recalled = await recallNow(db, engine, wish)
    const outcome = recalled ? 'recalled' : 'already_recalled'
    const said = recalled ? 'is recalled.' : 'was recalled before.'
    return done({ ok: true, outcome, ...nameOf(engine), active: engine.active }, [
      `${version} ${sha256} ${said}`,
      nextStep(engine),
    ])
  })
}

function digestGiven(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text))
    throw usageError(`${JSON.stringify(text)} is not a SHA-256: 64 hex characters.`)
  return text.toLowerCase()
}

function reasonOf(text: string): RecallReason {
  const reason = recallReasons.find((known) => known === text)
  if (reason === undefined) throw usageError(`--reason is one of ${recallReasons.join(', ')}`)
  return reason
}

/** What a run before this one was cut off at is gone on with. */
async function recallNow(db: Db, engine: KnownEngine, wish: Wish): Promise<boolean> {
  const recalled = await db.transaction((tx) => recallRecorded(tx, engine, wish))
  await markRecalled(db, systemClock())
  return recalled
}

interface Wish {
  reason: RecallReason
  actor: string
}

async function recallRecorded(
  tx: Tx,
  { version, sha256, active }: KnownEngine,
  { reason, actor }: Wish,
): Promise<boolean> {
  const now = systemClock()
  const recall = {
    engineSha256: Buffer.from(sha256, 'hex'),
    engineVersion: version,
    reason,
    recalledAt: now,
  }
  if (!(await recallEngine(tx, recall, actor))) return false
  const details = { version, reason, active }
  const entry = { action: 'engines.recalled', subjects: [sha256], details } as const
  await recordAction(tx, { ...entry, actor: operator() }, now)
  return true
}

function nameOf({ version, sha256 }: KnownEngine) {
  return { version, sha256 }
}

function unknown(version: string, sha256: string): Outcome {
  const message = `No engine ${version} has the SHA-256 ${sha256}: \`assay engines list\` shows those there are.`
  return done({ ok: false, outcome: 'not_found', version, sha256, message }, [message], 1)
}

function consequences(engine: KnownEngine): string[] {
  return [
    `This declares engine ${engine.version} wrong, for ever:`,
    `- ${engine.active} scores that stand are computed again by the engine of the day, as corrections: their credentials are revoked and score.revised goes out;`,
    '- credentials of the scores that it made before them are revoked as well;',
    '- no process scores by it any more.',
    nextStep(engine),
    'Nothing was done. To go ahead, repeat the command with --yes.',
  ]
}

function nextStep({ isReleased }: KnownEngine): string {
  return isReleased
    ? 'It is the engine of this release: no score is computed until a release with another one runs, and until then its scores stand.'
    : 'A running server makes the scores anew within seconds; `assay recompute` does it now.'
}
