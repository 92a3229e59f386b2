/** SQL of the score export: workers with their active score and the inputs that made it. */
import { type Queryable, sql } from '../../../platform/db/db.ts'

export interface ExportedWorker {
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
export function findExportPage(
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

export interface ItemSource {
  id: string
  sourceId: string
  /** True if the source is an identified peer. */
  isPerson: boolean
  /** Days since 1970-01-01: the first day on which the item no longer counts, or null. */
  expiryDay: number | null
}

export function findItemSources(
  db: Queryable,
  workerIds: readonly string[],
): Promise<ItemSource[]> {
  return db.rows<ItemSource>(sql`
    select e.evidence_id as id, e.source_id as "sourceId",
      s.kind = 'verified_peer' as "isPerson",
      e.expires_on - date '1970-01-01' as "expiryDay"
    from evidence e join sources s on s.source_id = e.source_id
    where e.worker_id = any(${workerIds}::uuid[])`)
}
