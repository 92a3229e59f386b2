/**
 * `assay evidence`: the evidence that scores are computed from. `assay sources`: its senders, and
 * how far each is trusted.
 */
import type { Command } from 'commander'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { evidenceOperations } from '../../scoring/disputes/evidence-operations.ts'
import { evidenceImport, sourcesImport } from '../../scoring/evidence/evidence-ingests.ts'
import { readAchievements } from '../../scoring/evidence/evidence-line.ts'
import { type Achievement, sourceKindNames } from '../../scoring/evidence/schema.ts'
import { sourceOperations, sourcesRegister } from '../../scoring/evidence/source-operations.ts'
import { sourcesReport } from '../../scoring/scores/reports/measure-operations.ts'
import { byOption, formatOption } from '../args.ts'
import { act, command } from '../command.ts'
import { type ImportFlags, importLines } from '../import-lines.ts'
import { readInput } from '../input-lines.ts'
import { declareOperations, runOperation } from '../operation-command.ts'
import { type Outcome, usageError } from '../output.ts'

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

export function declareSources(sources: Command): void {
  command(
    sources,
    'register',
    'Register a source, or change how far it is trusted',
    "assay sources register acme --name 'Acme Ltd' --kind organisation --group acme",
  )
    .argument('[id]', 'lowercase letters, digits and hyphens')
    .option('--name <name>', 'shown to readers of evidence')
    .option(
      '--kind <kind>',
      `${sourceKindNames.slice(0, -1).join(', ')} or ${sourceKindNames.at(-1)}`,
    )
    .option('--group <group>', 'the body behind it: sources of one group are not independent')
    .option('--assurance <permille>', 'default: the most that its kind allows')
    .option('--issuer <id>', 'the issuer of its Open Badges: a DID or an https URL')
    .option('--key <multikey...>', 'the keys that sign them: z6Mk…; a did:key is its own key')
    .option('--from <file>', 'sources, one a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'for rejected lines (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check everything, and change nothing')
    .option(...byOption)
    .action(act(registerSources))

  const others = sourceOperations.filter((operation) => operation !== sourcesRegister)
  declareOperations(sources, [...others, sourcesReport])
}

interface SourceFlags {
  name?: string
  kind?: string
  group?: string
  assurance?: string
  issuer?: string
  key?: string[]
  from?: string
  format?: string
  errors?: string
  dryRun?: boolean
  by: string
}

function registerSources(id: string | undefined, flags: SourceFlags): Promise<Outcome> {
  const { from, key: publicKeys, name, kind, group, assurance, issuer } = flags
  const named = { sourceId: id, name, kind, group, assurance, issuer, publicKeys }
  const texts = Object.entries(named).flatMap(([field, text]) =>
    text === undefined ? [] : [[field, text] as const],
  )
  if ((from !== undefined) === texts.length > 0)
    throw usageError('Name a source with --name, --kind and --group, or a file with --from.')
  return from === undefined
    ? runOperation(sourcesRegister, Object.fromEntries(texts), flags)
    : importLines({ ...flags, from }, sourcesImport, { by: flags.by })
}
