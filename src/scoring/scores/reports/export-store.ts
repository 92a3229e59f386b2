/** SQL of the score export: workers with their active score and the inputs that made it. */
import { type Queryable, sql } from '../../../platform/db/db.ts'

export interface ExportedWorker {
  workerId: string
  /** True if an open dispute hides the score. */
  restricted: boolean
  /** The members of an active score, or null. */
  asOf: string | null
  issuedMonth: string | null
  engineSha256: Buffer | null
  vocabularySha256: Buffer | null
  /** JSON text. */
  evidence: string | null
}

/** Returns workers that have evidence, in order of id, after the id `after`. */
export function findExportPage(
  db: Queryable,
  { after, limit }: { after: string | null; limit: number },
): Promise<ExportedWorker[]> {
  const from = after ?? '00000000-0000-0000-0000-000000000000'
  return db.rows<ExportedWorker>(sql`
    select w.id as "workerId",
      exists (select from disputes d where d.worker_id = w.id and d.restricted
        and d.state in ('open', 'under_review')) as restricted,
      to_char(s.as_of, 'YYYY-MM-DD') as "asOf",
      to_char(s.issued_at at time zone 'UTC', 'YYYY-MM') as "issuedMonth",
      s.engine_sha256 as "engineSha256", s.vocabulary_sha256 as "vocabularySha256", k.evidence
    from workers w
    left join score_snapshots s on s.worker_id = w.id and s.state = 'active'
    left join score_workings k on k.snapshot_id = s.snapshot_id
    where w.id > ${from} and exists (select from evidence e where e.worker_id = w.id)
    order by w.id limit ${limit}`)
}

export interface ItemSource {
  id: string
  sourceId: string
  kind: string
  /** Days since 1970-01-01: the first day on which the item no longer counts, or null. */
  expiryDay: number | null
}

export function findItemSources(
  db: Queryable,
  workerIds: readonly string[],
): Promise<ItemSource[]> {
  return db.rows<ItemSource>(sql`
    select e.evidence_id as id, e.source_id as "sourceId", s.kind,
      e.expires_on - date '1970-01-01' as "expiryDay"
    from evidence e join sources s on s.source_id = e.source_id
    where e.worker_id = any(${workerIds}::uuid[])`)
}
