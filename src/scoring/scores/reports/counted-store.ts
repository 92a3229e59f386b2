/** SQL of the reports on sources and reliability: the evidence of one worker after another. */
import { fragment, type Statement, sql, type Tx } from '../../../platform/db/db.ts'
import { evidenceMax } from '../../core/parameters.ts'
import type { ReportItem } from './counted-skills.ts'

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
export async function visitEvidence(
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
