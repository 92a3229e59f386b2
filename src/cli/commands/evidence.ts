/** `assay evidence`: the evidence that scores are computed from. */
import type { Command } from 'commander'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { evidenceOperations } from '../../scoring/disputes/evidence-operations.ts'
import { evidenceImport } from '../../scoring/evidence/evidence-ingests.ts'
import { readAchievements } from '../../scoring/evidence/evidence-line.ts'
import type { Achievement } from '../../scoring/evidence/schema.ts'
import { formatOption } from '../args.ts'
import { act, command } from '../command.ts'
import { usageError } from '../fail.ts'
import { type ImportFlags, importLines } from '../import-lines.ts'
import { readInput } from '../input-lines.ts'
import { declareOperations } from '../operation-command.ts'
import type { Outcome } from '../output.ts'

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

  declareOperations(evidence, evidenceOperations)
}

/** Enough for thousands of achievements. */
const achievementsBytesMax = 4_194_304

interface EvidenceImportFlags extends ImportFlags {
  achievements?: string
  acceptUncheckedStatus?: boolean
}

async function importFile(flags: EvidenceImportFlags): Promise<Outcome> {
  const { achievements: file, acceptUncheckedStatus: acceptsUncheckedStatus = false } = flags
  const badges = { achievements: await achievementsIn(file), acceptsUncheckedStatus }
  return importLines(flags, evidenceImport, { services: { badges } })
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
