/** The reports for auditors. Each writes an audit entry with its number of rows and no value. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { afterField, orNull } from '../../../operations/fields.ts'
import { changed, operationsFor } from '../../../operations/operation.ts'
import { parseCsvFields } from '../../../platform/csv.ts'
import { refuse } from '../../../platform/errors.ts'
import { closedObject } from '../../../platform/json/closed-object.ts'
import { readLineBatches } from '../../../platform/line-batches.ts'
import { sameNames } from '../../../platform/render-table.ts'
import type { ExplainServices } from '../explain-operation.ts'
import { impactOf, type Scored } from './impact.ts'
import { factsOf, impactRow, madeFrom, minCell, version, versionField } from './report-fields.ts'
import { type ExportTable, exportColumns, openExport, pseudonymKeyBytes } from './score-export.ts'

const { change } = operationsFor<ExplainServices>()

const rows = Type.Array(Type.Object({}, { additionalProperties: true }))

const scoresExport = change({
  name: 'scores export-page',
  http: 'POST /reports/score-export',
  summary: 'Export a page of scores, skills and evidence under pseudonyms, for an auditor',
  who: { operator: 'admin' },
  input: {
    key: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: 'must be the key of the page before: 64 hexadecimal digits',
        'x-help': 'of the pseudonyms; without it, a new one is made',
      }),
    ),
    after: afterField,
    size: Type.Integer({ minimum: 1, maximum: 1_000, default: 200, description: 'workers a page' }),
  },
  output: closedObject({
    ...madeFrom,
    key: Type.String({ description: 'Keep it: it joins names to subjects.', 'x-secret': true }),
    scores: rows,
    skills: rows,
    evidence: rows,
    next: orNull(Type.String(), 'The value of `after` for the next page, or null.'),
  }),
  refusals: ['scoring_unavailable'],
  example: { size: 200 },
  audit: 'reports.made',
  async run(tx, { key: given, after = null, size }, { now, services }) {
    const rules = await services.scoringRules()
    if ('refusal' in rules) return rules
    const key = given === undefined ? randomBytes(pseudonymKeyBytes) : Buffer.from(given, 'hex')
    const options = { key: createSecretKey(key), rules, now, limit: size }
    const tables: Record<ExportTable, object[]> = { scores: [], skills: [], evidence: [] }
    const next = await openExport(tx, options)(after, (table, cells) => {
      const named = exportColumns[table].map((column, at) => [column, cells[at]])
      tables[table].push(Object.fromEntries(named))
    })
    const output = { ...factsOf(rules, now), key: key.toString('hex'), ...tables, next }
    const details = { report: 'score-export', rows: tables.scores.length } as const
    return changed(output, { subjects: [], details })
  },
})

/** Has no operator route: the command line writes the files, in one snapshot of the database. */
export const scoresRecordExport = change({
  name: 'scores record-export',
  http: 'POST /reports/score-files',
  summary: 'Record that scores were written to files for an auditor',
  who: { operator: 'admin' },
  input: { workers: Type.Integer({ minimum: 0, description: 'workers in the files' }) },
  output: closedObject({ workers: Type.Integer() }),
  example: { workers: 1_000 },
  audit: 'reports.made',
  async run(_tx, { workers }) {
    const details = { report: 'score-export', rows: workers } as const
    return changed({ workers }, { subjects: [], details })
  },
})

export const scoresImpact = change({
  name: 'scores impact',
  http: 'POST /reports/impact',
  summary: 'Compare how often categories of workers reach a score',
  who: { operator: 'admin' },
  input: {
    scores: Type.String({ description: 'scores.csv of the export' }),
    groups: Type.String({ description: 'CSV with the column subject and those to compare' }),
    by: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      minItems: 1,
      maxItems: 2,
      uniqueItems: true,
      description: 'one or two different columns of the groups',
    }),
    minCell,
    cut: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000, description: 'a further score to select from' }),
    ),
  },
  output: closedObject({
    ...versionField,
    notInExport: Type.Integer({ description: 'Workers of the groups that the export lacks.' }),
    notInFile: Type.Integer({ description: 'Exported workers that the groups lack.' }),
    rows: Type.Array(impactRow),
  }),
  refusals: ['invalid_field'],
  example: {
    scores: 'subject,score,low\n0af3,640,420\n',
    groups: 'subject,category\n0af3,a\n',
    by: ['category'],
    minCell: 5,
  },
  audit: 'reports.made',
  // A stored answer would hold categories. A repeated call compares again.
  keepsKeys: true,
  columns: {
    by: 'by',
    category: 'category',
    n: ({ workers }) => workers ?? '<5',
    ...sameNames('scored', 'coverage', 'rule', 'selected', 'rate'),
    ratio: ({ ratio, isReference }) => (isReference ? 'reference' : ratio),
    ...sameNames('belowFourFifths', 'p', 'few', 'meanScore', 'd'),
  },
  async run(_tx, { scores, groups, by, minCell: least, cut = null }) {
    const exported = await recordsOf('scores', scores, ['subject', 'score', 'low'])
    if ('fault' in exported) return refuse('invalid_field', { message: exported.fault })
    const joined = await recordsOf('groups', groups, ['subject', ...by])
    if ('fault' in joined) return refuse('invalid_field', { message: joined.fault })
    const workers = new Map<string, Scored>()
    for (const [subject = '', score = '', low = ''] of exported.records)
      workers.set(subject, { score: pointsOf(score), low: pointsOf(low) })
    const categories = new Map(
      joined.records.map(([subject = '', ...values]) => [subject, { subject, values }]),
    )
    if (categories.size < joined.records.length)
      return refuse('invalid_field', { message: 'groups names a subject twice.' })
    const report = impactOf({
      scores: workers,
      columns: by,
      rows: [...categories.values()],
      minCell: least,
      cut,
    })
    const details = { report: 'impact', rows: joined.records.length } as const
    return changed({ ...version, ...report }, { subjects: [], details })
  },
})

/** Returns the named columns. A fault names lines and columns, never a value. */
async function recordsOf(
  name: string,
  text: string,
  columns: readonly string[],
): Promise<{ records: string[][] } | { fault: string }> {
  const all: string[][] = []
  const limits = { bytesMax: Number.MAX_SAFE_INTEGER, batchMax: 1_000, isCsv: true }
  const bytes = Buffer.from(text.replace(/^\uFEFF/, ''))
  for await (const { lines } of readLineBatches([bytes], limits))
    for (const line of lines) {
      const fields = parseCsvFields(Buffer.from(line.bytes).toString())
      if ('fault' in fields) return { fault: `${name} has no valid CSV in line ${line.number}.` }
      all.push(fields)
    }
  const [header = [], ...records] = all
  const places = columns.map((column) => header.indexOf(column))
  const missing = columns.filter((_, at) => places[at] === -1)
  if (missing.length > 0) return { fault: `${name} has no column ${missing.join(', ')}.` }
  const twice = columns.filter((column) => header.indexOf(column) !== header.lastIndexOf(column))
  if (twice.length > 0) return { fault: `${name} has two columns ${twice.join(', ')}. Rename one.` }
  const uneven = records.findIndex((record) => record.length !== header.length)
  if (uneven !== -1)
    return {
      fault: `${name} has a record of another length than its header: record ${uneven + 1}.`,
    }
  return { records: records.map((record) => places.map((place) => record[place] ?? '')) }
}

function pointsOf(text: string): number | null {
  return /^\d{1,4}$/.test(text) ? Number(text) : null
}

export const reportOperations = [scoresExport, scoresImpact] as const
