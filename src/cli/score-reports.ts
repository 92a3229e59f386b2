/** `assay scores export`, `subjects` and `impact`: the files of an auditor. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { openServices } from '../main/operation-services.ts'
import { counted } from '../platform/counted.ts'
import { csvLine } from '../platform/csv.ts'
import type { Statement } from '../platform/db/db.ts'
import { scoresImpact, scoresRecordExport } from '../scoring/scores/reports/operations.ts'
import { factsOf } from '../scoring/scores/reports/report-fields.ts'
import {
  type ExportPage,
  evidenceColumns,
  openExport,
  pseudonymKeyBytes,
  pseudonymOf,
  scoreColumns,
  skillColumns,
} from '../scoring/scores/reports/score-export.ts'
import { findUsernameOwners } from '../workers/worker-ids.ts'
import { act, command } from './command.ts'
import { type CommandContext, withContext } from './context.ts'
import { failure, usageError } from './fail.ts'
import { readInput } from './input-lines.ts'
import { performHere, runOperation } from './operation-command.ts'
import { done, type Outcome } from './output.ts'
import { type OutputFile, openOutput } from './output-file.ts'

export function declareReports(scores: Command): void {
  command(
    scores,
    'export',
    'Write scores, skills and evidence under pseudonyms, for an auditor',
    'assay scores export --out audit --key-file audit.key',
  )
    .requiredOption('--out <dir>', 'a folder for scores.csv, skills.csv and evidence.csv')
    .requiredOption('--key-file <file>', 'a new file for the key of the pseudonyms')
    .action(act(exportScores))

  command(
    scores,
    'subjects',
    'Write the pseudonyms of usernames as CSV, to join them with your own data',
    'assay scores subjects --key-file audit.key --usernames usernames.txt',
  )
    .requiredOption('--key-file <file>', 'the key of the export')
    .requiredOption('--usernames <file>', 'usernames, one a line')
    .action(act(writeSubjects))

  command(
    scores,
    'impact',
    'Compare how often categories of workers reach a score',
    'assay scores impact --scores audit/scores.csv --groups groups.csv --by gender',
  )
    .requiredOption('--scores <file>', 'scores.csv of an export')
    .requiredOption('--groups <file>', 'CSV with the column subject and those to compare')
    .requiredOption('--by <columns>', 'one column, or two separated by a comma')
    .option('--min-cell <n>', 'a category with fewer workers is not shown', '5')
    .option('--cut <score>', 'a further score to select from')
    .option('--csv', 'CSV for a spreadsheet')
    .action(act(compareImpact))
}

const pageWorkers = 500

/** Written as a plain statement, because PREPARE does not take it. */
const oneSnapshot: Statement = {
  text: 'set transaction isolation level repeatable read',
  name: 'export_snapshot',
  values: [],
}

function exportScores({ out, keyFile }: { out: string; keyFile: string }): Promise<Outcome> {
  return withContext((context) => writeExport(context, out, keyFile))
}

async function writeExport(
  context: CommandContext,
  out: string,
  keyFile: string,
): Promise<Outcome> {
  const rules = await openServices(context.config).scoringRules()
  if ('refusal' in rules) throw failure(rules.message ?? rules.refusal)
  const key = randomBytes(pseudonymKeyBytes)
  await mkdir(out, { recursive: true })
  await writeFile(keyFile, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx' }).catch(
    (cause: unknown) => {
      throw usageError(`${keyFile} cannot be written. Name a file that does not exist.`, { cause })
    },
  )
  const [scores, skills, evidence] = await Promise.all(
    [scoreColumns, skillColumns, evidenceColumns].map(async (columns, at) => {
      const file = await openOutput(
        join(out, ['scores.csv', 'skills.csv', 'evidence.csv'][at] ?? ''),
      )
      await file.write(`${csvLine(columns)}\n`)
      return file
    }),
  )
  const now = context.clock()
  const counts = await context.db.transaction(async (tx) => {
    // All pages see the database as it is now.
    await tx.run(oneSnapshot)
    const pageAfter = openExport(tx, { key, rules, now, limit: pageWorkers })
    const total = { workers: 0, skills: 0, evidence: 0 }
    let after: string | null = null
    do {
      const page: ExportPage = await pageAfter(after)
      await writeRows(scores, scoreColumns, page.scores)
      await writeRows(skills, skillColumns, page.skills)
      await writeRows(evidence, evidenceColumns, page.evidence)
      total.workers += page.scores.length
      total.skills += page.skills.length
      total.evidence += page.evidence.length
      after = page.next
    } while (after !== null)
    return total
  })
  // Not in the snapshot, which does not show the entries that were written since it began.
  const { workers } = counts
  await performHere(context, scoresRecordExport, { input: { workers }, flags: {} })
  for (const file of [scores, skills, evidence]) await file?.close()
  return done({ ...counts, ...factsOf(rules, now) }, [
    `${counted(counts.workers, 'worker')}, ${counted(counts.skills, 'skill')} and ${counted(counts.evidence, 'item')} exported to ${out}.`,
    `The key of the pseudonyms is in ${keyFile}. Never give it to the auditor.`,
  ])
}

async function writeRows<Column extends string>(
  file: OutputFile | undefined,
  columns: readonly Column[],
  rows: readonly Record<Column, string | number | boolean | null>[],
): Promise<void> {
  const lines = rows.map((row) => csvLine(columns.map((column) => String(row[column] ?? ''))))
  if (lines.length > 0) await file?.write(`${lines.join('\n')}\n`)
}

const usernamesBytesMax = 67_108_864

function writeSubjects(flags: { keyFile: string; usernames: string }): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const key = Buffer.from((await readFile(flags.keyFile, 'utf8')).trim(), 'hex')
    if (key.length !== pseudonymKeyBytes)
      throw usageError(`${flags.keyFile} is no key of an export: it needs 64 hexadecimal digits.`)
    const text = (await readInput(flags.usernames, usernamesBytesMax)).toString('utf8')
    const names = text.split(/\r?\n/).filter((name) => name !== '')
    const owners = await findUsernameOwners(db, names)
    const lines = owners.map(({ username, workerId }) =>
      csvLine([username, pseudonymOf(key, workerId)]),
    )
    const report = { subjects: owners.length, unknown: names.length - owners.length }
    return done(report, [csvLine(['username', 'subject']), ...lines])
  })
}

interface ImpactFlags {
  scores: string
  groups: string
  by: string
  minCell: string
  cut?: string
  json?: boolean
  csv?: boolean
}

/** Enough for a million workers. */
const impactBytesMax = 268_435_456

async function compareImpact(flags: ImpactFlags): Promise<Outcome> {
  const { by, minCell, cut, json = false, csv = false } = flags
  const read = async (path: string) => (await readInput(path, impactBytesMax)).toString('utf8')
  const [scores, groups] = [await read(flags.scores), await read(flags.groups)]
  const texts = { scores, groups, by: by.split(','), minCell, ...(cut !== undefined && { cut }) }
  return runOperation(scoresImpact, texts, { json, csv })
}
