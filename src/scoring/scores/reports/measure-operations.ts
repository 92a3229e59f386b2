/**
 * The reports that measure sources and the model of the score. Each writes an audit entry with its
 * number of rows and no value.
 */
import { Type } from 'typebox'
import { changed, operationsFor } from '../../../operations/operation.ts'
import { type Db, fragment, type Statement, sql, type Tx } from '../../../platform/db/db.ts'
import { closedObject } from '../../../platform/json/closed-object.ts'
import { sameNames } from '../../../platform/render-table.ts'
import { evidenceMax } from '../../core/parameters.ts'
import type { ExplainServices } from '../explain-operation.ts'
import type { ScoringRules } from '../scoring.ts'
import { openReliability } from './reliability.ts'
import { calibrationRow, factsOf, madeFrom, minCell, number, sourceRow } from './report-fields.ts'
import { openSourceReport } from './source-report.ts'
import type { ReportItem } from './statistics.ts'

const { change } = operationsFor<ExplainServices>()

export const sourcesReport = change({
  name: 'sources report',
  http: 'POST /reports/sources',
  summary: 'Compare the results of each source with those of other groups',
  who: { operator: 'admin' },
  input: { minCell },
  output: closedObject({ ...madeFrom, rows: Type.Array(sourceRow) }),
  refusals: ['scoring_unavailable'],
  example: { minCell: 5 },
  audit: 'reports.made',
  none: 'No item counts yet.',
  columns: {
    by: 'by',
    name: 'name',
    workers: ({ workers }) => workers ?? '<5',
    ...sameNames('items', 'compared', 'meanDifference', 'sd', 'severity', 'correlation', 'near'),
    flags: ({ lenient, severe, narrow }) =>
      Object.entries({ lenient, severe, narrow }).flatMap(([name, is]) => (is ? name : [])),
  },
  async run(tx, { minCell: least }, { now, services }) {
    const rules = await services.scoringRules()
    if ('refusal' in rules) return rules
    const report = openSourceReport(optionsOf(rules, now, least))
    await visitEvidence(tx, 'all', report.add)
    const rows = report.rows()
    const details = { report: 'sources', rows: rows.length } as const
    return changed({ ...factsOf(rules, now), rows }, { subjects: [], details })
  },
})

const count = Type.Integer()
const expected = Type.Integer({ description: 'What the model assumes.' })

export const scoresReliability = change({
  name: 'scores reliability',
  http: 'POST /reports/reliability',
  summary: 'Measure scatter, agreement and coverage, which the ranges of scores assume',
  who: { operator: 'admin' },
  input: { minCell },
  output: closedObject({
    ...madeFrom,
    scatter: closedObject({ cells: count, items: count, points: number, expected }),
    agreement: closedObject({
      units: count,
      groups: count,
      icc: number,
      iccOfTwo: number,
      iccOfThree: number,
      iccOfFive: number,
      severity: number,
      expected,
    }),
    retest: closedObject({ pairs: count, correlation: number, meanChange: number, points: number }),
    rows: Type.Array(calibrationRow, { description: 'Whether the range covers the next item.' }),
  }),
  refusals: ['scoring_unavailable'],
  example: { minCell: 5 },
  audit: 'reports.made',
  none: 'No skill has results of two groups and a score without its newest group.',
  columns: {
    by: 'by',
    name: 'name',
    workers: ({ workers }) => workers ?? '<5',
    ...sameNames('compared', 'inside', 'meanError', 'low'),
  },
  renderLines: ({ scatter, agreement, retest }) => [
    `Scatter of an item: ${shown(scatter.points)} points, of ${scatter.items} items in ${scatter.cells} cells. The model assumes ${scatter.expected}.`,
    `Severity of a group: ${shown(agreement.severity)} points, of ${agreement.groups} groups in ${agreement.units} skills of workers. The model assumes ${agreement.expected}.`,
    `Agreement of groups, ICC(1): ${shown(agreement.icc)}; of the mean of two ${shown(agreement.iccOfTwo)}, of three ${shown(agreement.iccOfThree)}, of five ${shown(agreement.iccOfFive)}.`,
    `Test and retest: r ${shown(retest.correlation)}, change ${shown(retest.meanChange)}, scatter ${shown(retest.points)} points, of ${retest.pairs} pairs.`,
  ],
  async run(tx, { minCell: least }, { now, services }) {
    const rules = await services.scoringRules()
    if ('refusal' in rules) return rules
    const report = openReliability(optionsOf(rules, now, least))
    await visitEvidence(tx, 'all', report.add)
    const result = report.result()
    const details = { report: 'reliability', rows: result.rows.length } as const
    return changed({ ...factsOf(rules, now), ...result }, { subjects: [], details })
  },
})

function shown(number: number | null): string {
  return number === null ? 'unknown' : String(number)
}

function optionsOf({ vocabulary }: ScoringRules, now: Date, least: number) {
  return { vocabulary, asOfDay: Math.floor(now.getTime() / 86_400_000), minCell: least }
}

/** Returns the calibration of the workers with the newest scores, for `assay doctor`. */
export async function recentCalibration(db: Db, rules: ScoringRules, now: Date) {
  const report = openReliability(optionsOf(rules, now, 5))
  await db.transaction((tx) => visitEvidence(tx, 'newest', report.add))
  return report.result().rows
}

export const measureOperations = [sourcesReport, scoresReliability] as const

interface Row extends ReportItem {
  workerId: string
}

const reported = fragment`e.worker_id as "workerId", e.evidence_id as id, e.skill_id as "skillId",
  e.type, s.independence_group as "group",
  case when s.suspended_at is null then s.assurance else 0 end as assurance, e.value,
  e.observed_on - date '1970-01-01' as "observedDay", encode(e.digest, 'hex') as digest,
  case when s.kind = 'verified_peer' then s.kind else s.source_id end as "sourceName"
  from evidence e join sources s on s.source_id = e.source_id`

/** The active evidence of every worker, or of the 20,000 workers with the newest scores. */
const selections = {
  all: sql`select ${reported} where e.state = 'active' order by e.worker_id`,
  newest: sql`
    select ${reported}
    where e.state = 'active' and e.worker_id in (
      select worker_id from score_snapshots where state = 'active'
      order by issued_at desc limit 20000)
    order by e.worker_id`,
}

/**
 * Calls `visit` with the evidence of each worker. A cursor shows the database at one moment and
 * keeps memory constant. Workers that the engine rejects for too many items are left out.
 */
async function visitEvidence(
  tx: Tx,
  workers: keyof typeof selections,
  visit: (items: readonly ReportItem[]) => void,
): Promise<void> {
  await tx.run(unnamed(`declare reported no scroll cursor for ${selections[workers].text}`))
  let own: Row[] = []
  const end = () => {
    if (own.length > 0 && own.length <= evidenceMax) visit(own)
    own = []
  }
  for (;;) {
    const rows = await tx.rows<Row>(unnamed('fetch 2000 from reported'))
    for (const row of rows) {
      if (row.workerId !== own[0]?.workerId) end()
      own.push(row)
    }
    if (rows.length === 0) break
  }
  end()
  await tx.run(unnamed('close reported'))
}

/** PREPARE takes no statement about a cursor. */
function unnamed(text: string): Statement {
  return { text, name: '', values: [] }
}
