/** `assay evidence import`: an item is taken in once, however often its line is read. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { readAchievements, readEvidenceLine } from '../evidence/evidence-line.ts'
import { type Ingested, ingestEvidence } from '../evidence/ingest-evidence.ts'
import { type Achievement, evidenceLine } from '../evidence/schema.ts'
import type { Tx } from '../platform/db/db.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { usageError } from './fail.ts'
import { type ImportFlags, importLines } from './import-lines.ts'
import { readInput } from './lines.ts'
import type { Outcome } from './output.ts'
import { releasedVocabulary } from './released-vocabulary.ts'

/** A line takes some 300 bytes; an Open Badge some thousand, and its picture may be in it. */
const lineBytesMax = 262_144
const batchMax = 1_000

/** Thousands of achievements fit. */
const achievementsBytesMax = 4_194_304

export interface EvidenceImportFlags extends ImportFlags {
  achievements?: string
  acceptUncheckedStatus?: boolean
}

export async function importEvidenceCommand(
  config: Config,
  flags: EvidenceImportFlags,
): Promise<Outcome> {
  const vocabulary = releasedVocabulary()
  const { achievements: file, acceptUncheckedStatus: acceptsUncheckedStatus = false } = flags
  const achievements = await achievementsOf(file)
  const badges = { achievements, acceptsUncheckedStatus }
  return importLines(flags, {
    shape: evidenceLine,
    lineBytesMax,
    batchMax,
    hidesText: true,
    results: ['added', 'unchanged'],
    read: readEvidenceLine,
    apply: (context, lines) =>
      context.db.transaction(async (tx) => {
        const now = context.clock()
        const answers = await ingestEvidence(tx, lines, { vocabulary, badges, now })
        await recordImport(tx, answers, now)
        return answers
      }),
  })
}

async function achievementsOf(file: string | undefined): Promise<Map<string, Achievement>> {
  if (file === undefined) return new Map()
  const json = parseStrictJson(await readInput(file, achievementsBytesMax))
  if (json.kind !== 'value') throw usageError(`${file}: ${json.why}`)
  const achievements = readAchievements(json.value)
  if (!('refused' in achievements)) return achievements
  const { field, reason } = achievements.refused
  throw usageError(`${file}: ${field ?? 'it'} ${reason}`)
}

/** An entry for each batch, in its transaction: after a kill the log tells exactly what was taken in. */
async function recordImport(tx: Tx, answers: readonly Ingested[], now: Date): Promise<void> {
  const added = answers.flatMap((one) =>
    'result' in one && one.result === 'added' ? one.evidenceId : [],
  )
  if (added.length === 0) return
  const subjects = [...added.slice(0, 1), ...added.slice(1).slice(-1)]
  const details = { count: added.length }
  const action = 'evidence.imported'
  await recordAction(tx, { actor: operator(), action, subjects, details }, now)
}
