/** `assay evidence`: the evidence that scores are computed from. */
import type { Command } from 'commander'
import { releasedVocabulary } from '../../app/released-vocabulary.ts'
import { openScoring, ScoringUnavailable } from '../../app/scoring.ts'
import { type ReassignedByName, reassignNamedEvidence } from '../../disputes/reassign-evidence.ts'
import { readAchievements, readEvidenceLine } from '../../evidence/evidence-line.ts'
import type { EvidenceName } from '../../evidence/evidence-names.ts'
import { endImport, importEvidence } from '../../evidence/ingest-evidence.ts'
import {
  type Achievement,
  evidenceLine,
  type RevocationReason,
  revocationReasons,
} from '../../evidence/schema.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { revokeNamedEvidence } from '../../scores/revoke-evidence.ts'
import type { ScoredWorker } from '../../scores/score-workers.ts'
import type { Scoring } from '../../scores/scoring.ts'
import { byOption, each, formatOption, oneOf, parseEvidenceName, parseUsername } from '../args.ts'
import { act, command } from '../command.ts'
import { type CommandContext, withContext } from '../context.ts'
import { failure, unknownWorker, usageError } from '../fail.ts'
import { type ImportFlags, importLines } from '../import-lines.ts'
import { readInput } from '../input-lines.ts'
import { usernamesOf } from '../names.ts'
import { done, note, type Outcome } from '../output.ts'

const names = 'evidence ids, or SOURCE/EXTERNAL-ID'

export function declareCommand(evidence: Command): void {
  command(
    evidence,
    'import',
    'Import the evidence of a file',
    'assay evidence import --from evidence.ndjson',
  )
    .requiredOption('--from <file>', 'evidence, one item a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'for rejected lines (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check every line against the database, and change nothing')
    .option(
      '--achievements <file>',
      'the evidence that Open Badges give, as JSON by achievement id',
    )
    .option('--accept-unchecked-status', 'accept badges with a status, which is not looked up')
    .addHelpText(
      'after',
      '\nAfter an interruption, run the command again: each item is imported once.',
    )
    .action(act(importFile))

  command(
    evidence,
    'reassign',
    'Move evidence to the worker that it belongs to',
    'assay evidence reassign --all-of ada-l --to ada-lovelace',
  )
    .argument('[id...]', names, each(parseEvidenceName))
    .option(
      '--all-of <username>',
      'all evidence of this worker, after a double registration',
      parseUsername,
    )
    .requiredOption('--to <username>', 'the worker that receives the evidence', parseUsername)
    .action(act(reassign))

  command(
    evidence,
    'revoke',
    'Revoke evidence for ever',
    'assay evidence revoke acme-reviews/2026-117 --reason source_invalid',
  )
    .argument('<id...>', names, each(parseEvidenceName))
    .requiredOption('--reason <reason>', revocationReasons.join(', '), oneOf(revocationReasons))
    .option(...byOption)
    .action(act(revoke))
}

/** A line takes some 300 bytes, an Open Badge with its picture far more. */
const lineBytesMax = 262_144
const batchMax = 1_000

/** Enough for thousands of achievements. */
const achievementsBytesMax = 4_194_304

interface EvidenceImportFlags extends ImportFlags {
  achievements?: string
  acceptUncheckedStatus?: boolean
}

async function importFile(flags: EvidenceImportFlags): Promise<Outcome> {
  const { achievements: file, acceptUncheckedStatus: acceptsUncheckedStatus = false } = flags
  const badges = { achievements: await achievementsIn(file), acceptsUncheckedStatus }
  const importId = uuidV7(new Date())
  const rules = { vocabulary: releasedVocabulary(), badges, importId }
  return importLines(flags, {
    shape: evidenceLine,
    lineBytesMax,
    batchMax,
    hidesText: true,
    results: ['added', 'unchanged'],
    read: readEvidenceLine,
    apply: (context, lines) => importEvidence(context, lines, rules),
    end: ({ db, clock }) => endImport(db, importId, clock()),
  })
}

async function achievementsIn(file: string | undefined): Promise<Map<string, Achievement>> {
  if (file === undefined) return new Map()
  const json = parseStrictJson(await readInput(file, achievementsBytesMax))
  if (json.kind !== 'value') throw usageError(`${file}: ${json.why}`)
  const achievements = readAchievements(json.value)
  if (!('refused' in achievements)) return achievements
  const { field, reason } = achievements.refused
  throw usageError(`${file}: ${field ?? 'it'} ${reason}`)
}

interface ReassignFlags {
  allOf?: string
  to: string
}

function reassign(
  items: readonly EvidenceName[] = [],
  { allOf, to }: ReassignFlags,
): Promise<Outcome> {
  if (items.length > 0 === (allOf !== undefined))
    throw usageError('Name either items, or a worker with --all-of.')
  return withContext(async (context) => {
    const scoring = await (await openScoring(context.config))(context.db)
    const what = allOf === undefined ? items : { allOf }
    const answer = await reassignNamedEvidence(context, scoring, { what, to })
    if (answer.outcome === 'unknown_worker') throw unknownWorker(answer.username)
    if (answer.outcome !== 'reassigned') throw rejected(answer)
    const { moved } = answer
    const { rescored, lines } = await renderScores(context.db, answer.scored)
    return done({ moved, rescored }, [`${moved.length} reassigned to ${to}`, ...lines])
  })
}

const rejections = {
  not_found: 'not found',
  revoked: 'revoked, so it counts for no worker',
  excluded: 'excluded by a dispute: end the dispute first',
}

function rejected(
  answer: Exclude<ReassignedByName, { outcome: 'reassigned' | 'unknown_worker' }>,
): Error {
  const message = `${answer.evidenceIds.join(', ')}: ${rejections[answer.outcome]}. Nothing was done.`
  return failure(message, { report: { ...answer } })
}

interface RevokeFlags {
  reason: RevocationReason
  by: string
}

function revoke(names: readonly EvidenceName[], flags: RevokeFlags): Promise<Outcome> {
  return withContext((context) => revokeEvidence(context, names, flags))
}

/** Revokes evidence, and scores its workers again if this machine can. */
export async function revokeEvidence(
  context: CommandContext,
  names: readonly EvidenceName[],
  { reason, by }: RevokeFlags,
): Promise<Outcome> {
  const scoring = await scoringIfAny(context)
  const answer = await revokeNamedEvidence(context, scoring, { names, reason, by })
  const { revoked, alreadyRevoked, notFound, scored } = answer
  for (const name of notFound) note(`not found: ${name}`)
  const { rescored, lines } = await renderScores(context.db, scored)
  const counts = `${revoked.length} revoked, ${alreadyRevoked.length} revoked before, ${notFound.length} not found`
  const exitCode = notFound.length === 0 ? 0 : 1
  return done({ revoked, alreadyRevoked, notFound, rescored }, [counts, ...lines], exitCode)
}

async function renderScores(db: Queryable, scored: readonly ScoredWorker[]) {
  const usernames = await usernamesOf(
    db,
    scored.map(({ workerId }) => workerId),
  )
  const rescored = scored.map(({ workerId, outcome, snapshot }) => ({
    workerId,
    outcome,
    snapshotId: snapshot?.snapshotId.toString('hex') ?? null,
  }))
  const lines = rescored.map(
    ({ workerId, outcome }) => `score of ${usernames.get(workerId) ?? workerId}: ${outcome}`,
  )
  return { rescored, lines }
}

/** Returns null and prints the reason if no score can be computed or issued on this machine. */
async function scoringIfAny({ config, db }: CommandContext): Promise<Scoring | null> {
  try {
    return await (await openScoring(config))(db)
  } catch (error) {
    if (!(error instanceof ScoringUnavailable)) throw error
    note(`${error.message} The scores are left to the next recomputation.`)
    return null
  }
}
