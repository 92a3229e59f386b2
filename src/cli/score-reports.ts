/** `assay scores export`, `subjects` and `impact`: the files of an auditor. */
import { createSecretKey, randomBytes } from 'node:crypto'
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
  type AddRow,
  type ExportTable,
  exportColumns,
  openExport,
  pseudonymKeyBytes,
  pseudonymOf,
} from '../scoring/scores/reports/score-export.ts'
import { findUsernameOwners } from '../workers/worker-ids.ts'
import { act, command } from './command.ts'
import { type CommandContext, withContext } from './context.ts'
import { readInput } from './input-lines.ts'
import { performHere, runOperation } from './operation-command.ts'
import { done, failure, type Outcome, usageError } from './output.ts'
import { openOutput } from './output-file.ts'

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

const pageWorkers = 250

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
  const names = Object.keys(exportColumns) as ExportTable[]
  const files = await Promise.all(names.map((name) => openOutput(join(out, `${name}.csv`))))
  const lines: Record<ExportTable, string[]> = { scores: [], skills: [], evidence: [] }
  for (const name of names) lines[name].push(csvLine(exportColumns[name]))
  const counts = { scores: 0, skills: 0, evidence: 0 }
  const add: AddRow = (table, cells) => {
    lines[table].push(csvLine(cells))
    counts[table]++
  }
  const now = context.clock()
  await context.db.transaction(async (tx) => {
    // All pages see the database as it is now.
    await tx.run(oneSnapshot)
    const options = { key: createSecretKey(key), rules, now, limit: pageWorkers }
    const addPage = openExport(tx, options)
    let after: string | null = null
    do {
      after = await addPage(after, add)
      for (const [at, name] of names.entries()) {
        const page = lines[name].splice(0)
        if (page.length > 0) await files[at]?.write(`${page.join('\n')}\n`)
      }
    } while (after !== null)
  })
  const { scores: workers, skills, evidence } = counts
  // Not in the snapshot, which does not show the entries that were written since it began.
  await performHere(context, scoresRecordExport, { input: { workers }, flags: {} })
  for (const file of files) await file[Symbol.asyncDispose]()
  return done({ workers, skills, evidence, ...factsOf(rules, now) }, [
    `${counted(workers, 'worker')}, ${counted(skills, 'skill')} and ${counted(evidence, 'item')} exported to ${out}.`,
    `The key of the pseudonyms is in ${keyFile}. Never give it to the auditor.`,
  ])
}

const usernamesBytesMax = 67_108_864

function writeSubjects(flags: { keyFile: string; usernames: string }): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const bytes = Buffer.from((await readFile(flags.keyFile, 'utf8')).trim(), 'hex')
    if (bytes.length !== pseudonymKeyBytes)
      throw usageError(`${flags.keyFile} is no key of an export: it needs 64 hexadecimal digits.`)
    const key = createSecretKey(bytes)
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
