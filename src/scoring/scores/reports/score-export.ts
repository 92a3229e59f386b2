/**
 * The export of scores for an auditor. Workers, and peers that are persons, have pseudonyms: the
 * HMAC of their id under a key that the operator keeps and the service forgets.
 */
import { createHmac } from 'node:crypto'
import type { Queryable } from '../../../platform/db/db.ts'
import { dateOfDay, dayOfDate } from '../../core/civil-date.ts'
import type { Evidence, ScoreInput } from '../../core/evidence.ts'
import { evidenceMax } from '../../core/parameters.ts'
import { findWorkerEvidence } from '../../evidence/store.ts'
import type { PastEngine } from '../engine.ts'
import { isPublished } from '../issue-rule.ts'
import { daysMax, skillEndsOnDay } from '../published-until.ts'
import { type Makers, openMakers } from '../replay.ts'
import type { ScoringRules } from '../scoring.ts'
import {
  type ExportedWorker,
  findExportPage,
  findItemSources,
  type ItemSource,
} from './export-store.ts'

export const pseudonymKeyBytes = 32

/** Returns 32 hexadecimal digits. */
export function pseudonymOf(key: Buffer, id: string): string {
  return createHmac('sha256', key).update(id).digest('hex').slice(0, 32)
}

export const scoreColumns = [
  'subject',
  'state',
  'score',
  'low',
  'high',
  'band',
  'evidenceCount',
  'sourceCount',
  'issuedMonth',
  'engineSha256',
  'vocabularyHash',
] as const
export const skillColumns = [
  'subject',
  'skillId',
  'score',
  'low',
  'high',
  'cautious',
  'level',
  'verified',
  'mass',
  'freshMass',
  'endsMonth',
] as const
export const evidenceColumns = [
  'subject',
  'skillId',
  'item',
  'type',
  'sourceId',
  'group',
  'assurance',
  'value',
  'observedMonth',
  'reason',
  'share',
  'massPart',
  'pull',
] as const

type Cell = string | number | boolean | null
type Row<Columns extends readonly string[]> = Record<Columns[number], Cell>

export interface ExportPage {
  scores: Row<typeof scoreColumns>[]
  skills: Row<typeof skillColumns>[]
  evidence: Row<typeof evidenceColumns>[]
  /** Id of the last worker, or null after the last page. */
  next: string | null
}

export interface ExportOptions {
  key: Buffer
  rules: ScoringRules
  now: Date
  limit: number
}

/** Returns a function that makes the page after a worker. Engines are loaded once. */
export function openExport(db: Queryable, { key, rules, now, limit }: ExportOptions) {
  const makersOf = openMakers(db)
  const ownMakers: Makers = { engine: rules.engine, vocabulary: rules.vocabulary }
  const today = Math.floor(now.getTime() / 86_400_000)
  return async (after: string | null): Promise<ExportPage> => {
    const workers = await findExportPage(db, { after, limit })
    const ids = workers.map(({ workerId }) => workerId)
    const unscored = workers.flatMap(({ workerId, asOf }) => (asOf === null ? workerId : []))
    const found = unscored.length === 0 ? [] : await findWorkerEvidence(db, unscored)
    const active = found.filter(({ state }) => state === 'active')
    const current = Map.groupBy(active, ({ workerId }) => workerId)
    const sources = new Map((await findItemSources(db, ids)).map((item) => [item.id, item]))
    const next = workers.length < limit ? null : (ids.at(-1) ?? null)
    const page: ExportPage = { scores: [], skills: [], evidence: [], next }
    for (const worker of workers) {
      const { engineSha256, vocabularySha256, evidence: stored, asOf } = worker
      const isScored = stored !== null && engineSha256 !== null && vocabularySha256 !== null
      const makers = isScored ? await makersOf({ engineSha256, vocabularySha256 }) : ownMakers
      const evidence: Evidence[] = isScored
        ? JSON.parse(stored)
        : (current.get(worker.workerId) ?? []).map(({ state: _state, ...item }) => item)
      const asOfDay = asOf === null ? today : (dayOfDate(asOf) ?? today)
      const input = { evidence, vocabulary: makers.vocabulary, asOfDay }
      addWorker(page, { worker, input, engine: makers.engine, rules, key, sources })
    }
    return page
  }
}

interface Exported {
  worker: ExportedWorker
  input: ScoreInput
  engine: PastEngine
  rules: ScoringRules
  key: Buffer
  sources: ReadonlyMap<string, ItemSource>
}

function addWorker(page: ExportPage, { worker, input, engine, rules, key, sources }: Exported) {
  const subject = pseudonymOf(key, worker.workerId)
  if (input.evidence.length > evidenceMax) {
    page.scores.push({ ...noScore, subject, state: 'unscorable' })
    return
  }
  const { result, skills, items } = engine.explain(input, true)
  const { score, low, high, band, evidenceCount, sourceCount } = result
  const isScored = worker.asOf !== null
  page.scores.push({
    subject,
    state: stateOf(worker, isPublished(result, rules.issueRule), score),
    score: isScored ? score : null,
    low: isScored ? low : null,
    high: isScored ? high : null,
    band: isScored ? band : null,
    evidenceCount,
    sourceCount,
    issuedMonth: worker.issuedMonth,
    engineSha256: worker.engineSha256?.toString('hex') ?? null,
    vocabularyHash: worker.vocabularySha256?.toString('hex') ?? null,
  })
  const expiryDays = new Map(
    input.evidence.flatMap(({ id }) => {
      const day = sources.get(id)?.expiryDay ?? null
      return day === null ? [] : [[id, day]]
    }),
  )
  const future = { score: engine.score, input, expiryDays, daysMax }
  for (const [at, { verified, ...skill }] of result.skills.entries()) {
    const decayedOn = skills[at]?.endsOnDay ?? null
    const ends = skill.score === null ? null : skillEndsOnDay(future, skill.skillId, decayedOn)
    const endsMonth = ends === null ? null : dateOfDay(ends).slice(0, 7)
    page.skills.push({ subject, ...skill, verified, endsMonth })
  }
  const given = new Map(input.evidence.map((item) => [item.id, item]))
  for (const [at, { id, skillId, reason, share, mass, pull }] of items.entries()) {
    const item = given.get(id)
    const source = sources.get(id)
    if (item === undefined) continue
    const { type, group, assurance, value, observedDay } = item
    const isPerson = source?.kind === 'verified_peer'
    page.evidence.push({
      subject,
      skillId,
      item: at + 1,
      type,
      sourceId: isPerson
        ? pseudonymOf(key, `source ${source.sourceId}`)
        : (source?.sourceId ?? null),
      group: isPerson ? pseudonymOf(key, `group ${group}`) : group,
      assurance,
      value,
      observedMonth: dateOfDay(observedDay).slice(0, 7),
      reason,
      share,
      massPart: mass,
      pull,
    })
  }
}

/** The engine rejects a worker with too many items. */
const noScore = {
  score: null,
  low: null,
  high: null,
  band: null,
  evidenceCount: null,
  sourceCount: null,
  issuedMonth: null,
  engineSha256: null,
  vocabularyHash: null,
}

/** A worker that awaits its first score counts as scored only when the score is issued. */
function stateOf(
  { restricted, asOf }: ExportedWorker,
  isEnough: boolean,
  score: number | null,
): string {
  if (restricted) return 'restricted'
  if (asOf !== null) return 'scored'
  return score === null ? 'too_little_evidence' : isEnough ? 'not_issued' : 'too_few_sources'
}
