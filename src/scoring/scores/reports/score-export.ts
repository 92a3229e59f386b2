/**
 * The export of scores for an auditor. Workers, and peers that are persons, have pseudonyms: the
 * HMAC of their id under a key that the operator keeps and the service forgets.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { type Queryable, sql } from '../../../platform/db/db.ts'
import { dateOfDay } from '../../core/civil-date.ts'
import type { Evidence, ScoreInput } from '../../core/evidence.ts'
import { evidenceMax } from '../../core/parameters.ts'
import { findWorkerEvidence } from '../../evidence/store.ts'
import type { PastEngine } from '../engine.ts'
import { daysMax, isPublished, skillEndsOnDay } from '../issue-rule.ts'
import { type Makers, openMakers } from '../replay.ts'
import type { ScoringRules } from '../scoring.ts'

export const pseudonymKeyBytes = 32

/** Returns 32 hexadecimal digits. A `KeyObject` takes a tenth of the time of its bytes. */
export function pseudonymOf(key: KeyObject, id: string): string {
  return createHmac('sha256', key).update(id).digest('hex').slice(0, 32)
}

/** The columns of each file. */
export const exportColumns = {
  scores: namesIn(
    'subject state score low high band evidenceCount sourceCount issuedMonth engineSha256 vocabularyHash',
  ),
  skills: namesIn(
    'subject skillId score low high cautious level verified mass freshMass endsMonth',
  ),
  evidence: namesIn(
    'subject skillId item type sourceId group assurance value observedMonth reason share massPart pull',
  ),
} as const

function namesIn(names: string): readonly string[] {
  return names.split(' ')
}

export type ExportTable = keyof typeof exportColumns

/** Receives a row with its cells in the order of the columns. */
export type AddRow = (table: ExportTable, cells: (string | number | boolean | null)[]) => void

interface ExportOptions {
  key: KeyObject
  rules: ScoringRules
  now: Date
  limit: number
}

/**
 * Returns a function that adds the rows of the page after a worker, and returns the id of the last
 * worker of the page, or null after the last page. Engines are loaded once.
 */
export function openExport(db: Queryable, { key, rules, now, limit }: ExportOptions) {
  const storedMakersOf = openMakers(db)
  const today = Math.floor(now.getTime() / 86_400_000)

  async function makersOf({ engineSha256, vocabularySha256 }: ExportedWorker): Promise<Makers> {
    if (engineSha256 === null || vocabularySha256 === null) return rules
    return storedMakersOf({
      engineSha256: Buffer.from(engineSha256, 'hex'),
      vocabularySha256: Buffer.from(vocabularySha256, 'hex'),
    })
  }

  return async (after: string | null, add: AddRow): Promise<string | null> => {
    const workers = await findExportPage(db, { after, limit })
    const ids = workers.map(({ workerId }) => workerId)
    const unscored = workers.flatMap(({ workerId, asOfDay }) => (asOfDay === null ? workerId : []))
    const found = unscored.length === 0 ? [] : await findWorkerEvidence(db, unscored)
    const active = found.filter(({ state }) => state === 'active')
    const current = Map.groupBy(active, ({ workerId }) => workerId)
    const sources = new Map((await findItemSources(db, ids)).map((item) => [item.id, item]))
    for (const worker of workers) {
      const { engine, vocabulary } = await makersOf(worker)
      const evidence: readonly Evidence[] =
        worker.evidence === null
          ? (current.get(worker.workerId) ?? [])
          : JSON.parse(worker.evidence)
      const input = { evidence, vocabulary, asOfDay: worker.asOfDay ?? today }
      addWorker({ worker, input, engine, rules, key, sources }, add)
    }
    return workers.length < limit ? null : (ids.at(-1) ?? null)
  }
}

interface Exported {
  worker: ExportedWorker
  input: ScoreInput
  engine: PastEngine
  rules: ScoringRules
  key: KeyObject
  sources: ReadonlyMap<string, ItemSource>
}

function addWorker({ worker, input, engine, rules, key, sources }: Exported, add: AddRow) {
  const subject = pseudonymOf(key, worker.workerId)
  const { evidence } = input
  if (evidence.length > evidenceMax) {
    // The engine rejects a worker with too many items.
    const empty = exportColumns.scores.slice(2).map(() => null)
    add('scores', [subject, 'unscorable', ...empty])
    return
  }
  const { result, skills, items } = engine.explain(input, true)
  const { score, low, high, band, evidenceCount, sourceCount } = result
  const { issuedMonth, engineSha256, vocabularySha256 } = worker
  const shown = worker.asOfDay === null ? [null, null, null, null] : [score, low, high, band]
  const state = stateOf(worker, isPublished(result, rules.issueRule), score)
  const counts = [evidenceCount, sourceCount]
  add('scores', [subject, state, ...shown, ...counts, issuedMonth, engineSha256, vocabularySha256])
  const expiryDays = new Map<string, number>()
  for (const { id } of evidence) {
    const day = sources.get(id)?.expiryDay ?? null
    if (day !== null) expiryDays.set(id, day)
  }
  const future = { score: engine.score, input, expiryDays, daysMax }
  for (const [at, skill] of result.skills.entries()) {
    const { skillId, cautious, level, verified, mass, freshMass } = skill
    const decayedOn = skills[at]?.endsOnDay ?? null
    const ends = skill.score === null ? null : skillEndsOnDay(future, skillId, decayedOn)
    const range = [skill.score, skill.low, skill.high, cautious]
    const endsMonth = ends === null ? null : monthOf(ends)
    add('skills', [subject, skillId, ...range, level, verified, mass, freshMass, endsMonth])
  }
  const given = new Map(evidence.map((item) => [item.id, item]))
  for (const [at, { id, skillId, reason, share, mass, pull }] of items.entries()) {
    const item = given.get(id)
    if (item === undefined) continue
    const { sourceId = null, isPerson = false } = sources.get(id) ?? {}
    const { type, group, assurance, value, observedDay } = item
    add('evidence', [
      subject,
      skillId,
      at + 1,
      type,
      isPerson ? pseudonymOf(key, `source ${sourceId}`) : sourceId,
      isPerson ? pseudonymOf(key, `group ${group}`) : group,
      assurance,
      value,
      monthOf(observedDay),
      reason,
      share,
      mass,
      pull,
    ])
  }
}

/** Returns the month as `YYYY-MM`. */
function monthOf(day: number): string {
  return dateOfDay(day).slice(0, 7)
}

/** A worker that awaits its first score counts as scored only when the score is issued. */
function stateOf(
  { restricted, asOfDay }: ExportedWorker,
  isEnough: boolean,
  score: number | null,
): string {
  if (restricted) return 'restricted'
  if (asOfDay !== null) return 'scored'
  return score === null ? 'too_little_evidence' : isEnough ? 'not_issued' : 'too_few_sources'
}

interface ExportedWorker {
  workerId: string
  /** True if an open dispute hides the score. */
  restricted: boolean
  /** The members of an active score, or null. */
  asOfDay: number | null
  issuedMonth: string | null
  /** Lowercase hexadecimal digits. */
  engineSha256: string | null
  vocabularySha256: string | null
  /** JSON text. */
  evidence: string | null
}

/**
 * Returns workers that have evidence, in order of id, after the id `after`. Each page reads its own
 * rows alone: a join of the whole tables would begin at the first worker for every page.
 */
function findExportPage(
  db: Queryable,
  { after, limit }: { after: string | null; limit: number },
): Promise<ExportedWorker[]> {
  const from = after ?? '00000000-0000-0000-0000-000000000000'
  return db.rows<ExportedWorker>(sql`
    select w.id as "workerId",
      exists (select from disputes d where d.worker_id = w.id and d.restricted
        and d.state in ('open', 'under_review')) as restricted,
      s.as_of - date '1970-01-01' as "asOfDay",
      to_char(s.issued_at at time zone 'UTC', 'YYYY-MM') as "issuedMonth",
      encode(s.engine_sha256, 'hex') as "engineSha256",
      encode(s.vocabulary_sha256, 'hex') as "vocabularySha256", s.evidence
    from (select distinct worker_id as id from evidence where worker_id > ${from}
      order by worker_id limit ${limit}) w
    left join lateral (select * from score_snapshots left join score_workings using (snapshot_id)
      where worker_id = w.id and state = 'active' limit 1) s on true
    order by w.id`)
}

interface ItemSource {
  id: string
  sourceId: string
  /** True if the source is an identified peer. */
  isPerson: boolean
  /** Days since 1970-01-01: the first day on which the item no longer counts, or null. */
  expiryDay: number | null
}

function findItemSources(db: Queryable, workerIds: readonly string[]): Promise<ItemSource[]> {
  return db.rows<ItemSource>(sql`
    select e.evidence_id as id, e.source_id as "sourceId",
      s.kind = 'verified_peer' as "isPerson",
      e.expires_on - date '1970-01-01' as "expiryDay"
    from evidence e join sources s on s.source_id = e.source_id
    where e.worker_id = any(${workerIds}::uuid[])`)
}
