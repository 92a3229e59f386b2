/** Workers and sources that tests send evidence about. */
import type { Db } from '../../../src/platform/db/db.ts'
import { sql } from '../../../src/platform/db/db.ts'
import type { Vocabulary } from '../../../src/scoring/core/evidence.ts'
import { registerSource } from '../../../src/scoring/evidence/register-source.ts'
import type { EvidenceLine, SourceLine } from '../../../src/scoring/evidence/schema.ts'

export const evidenceNow = new Date('2026-05-14T09:00:00Z')

export const smallVocabulary: Vocabulary = {
  'hss:typescript': { halfLifeMonths: 24, weightPermille: { assessment: 350, work_product: 300 } },
  'hss:welding': { halfLifeMonths: 0, weightPermille: { credential: 500 } },
}

/** Returns `00000000-0000-7000-8000-` followed by the number in 12 digits. */
export function workerIdOf(n: number): string {
  return `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

/** Inserts the workers 1 to `count`, with their ids and nothing else. */
export async function addWorkers(db: Db, count: number): Promise<void> {
  await db.run(sql`
    insert into workers (id, registered_at)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${evidenceNow}
    from generate_series(1, ${count}::int) n`)
}

export const examiner: SourceLine = {
  id: 'examiner',
  name: 'The Examiner',
  kind: 'accredited',
  group: 'examiners',
}

export async function addSource(db: Db, over: Partial<SourceLine> = {}): Promise<void> {
  const by = { actor: 'test', now: evidenceNow }
  await db.transaction((tx) => registerSource(tx, { ...examiner, ...over }, by))
}

/** Returns an evidence line that the server accepts. */
export function evidenceLineOf(n: number, over: Partial<EvidenceLine> = {}): EvidenceLine {
  return {
    workerId: workerIdOf(1 + (n % 3)),
    sourceId: 'examiner',
    externalId: `item-${n}`,
    skillId: 'hss:typescript',
    type: 'assessment',
    value: n % 1_001,
    observedOn: '2026-05-01',
    ...over,
  }
}
