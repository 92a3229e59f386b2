/**
 * The rights of the database role of a server that only answers requests. The role reaches the
 * tables named here and nothing else. An attacker with a defect in an endpoint, or with the role's
 * connection, reads no private part of the evidence.
 */
import { type Db, type Queryable, sql, type Tx } from '../platform/db/db.ts'

type Right = 'select' | 'insert' | 'update' | 'delete'

const read = ['select'] as const
const readAndWrite = ['select', 'insert', 'update', 'delete'] as const
const nothing = [] as const

/**
 * Every table has a row, so a new table is out of reach until its rights are decided here. A
 * partition is reached through its table.
 */
export const apiRights: Readonly<Record<string, readonly Right[]>> = {
  schema_migrations: read,
  process_heartbeats: ['select', 'insert', 'update'],
  reader_beats: readAndWrite,
  status_changes: read,
  status_looks: read,
  backlog: read,
  signing_keys: read,
  status_lists: read,
  score_credentials: read,
  rate_windows: readAndWrite,
  // A row is locked for update, which needs the right.
  accounts: ['select', 'update'],
  users: ['select', 'insert', 'update'],
  memberships: readAndWrite,
  operators: read,
  user_identities: ['select', 'insert'],
  sessions: readAndWrite,
  mails: readAndWrite,
  sign_in_links: read,
  invitations: ['select', 'insert', 'update'],
  invitation_links: ['select', 'insert', 'delete'],
  mail_budget: ['select', 'insert', 'update'],
  notices_sent: ['select', 'insert', 'update'],
  user_networks: ['select', 'insert', 'update'],
  api_keys: ['select', 'insert', 'update'],
  api_key_uses: ['select', 'insert', 'update'],
  request_log: ['select', 'insert'],
  request_counts: ['select', 'insert', 'update'],
  credit_accounts: ['select', 'update'],
  credit_entries: ['select', 'insert'],
  credit_usage: read,
  credit_usage_marks: read,
  credit_audits: nothing,
  credit_archives: nothing,
  credit_archived_sums: nothing,
  credit_purchases: readAndWrite,
  webhook_events: read,
  webhook_feed_floor: read,
  webhook_endpoints: ['select', 'insert', 'update'],
  webhook_secrets: readAndWrite,
  webhook_deliveries: ['select', 'insert', 'update'],
  webhook_attempts: read,
  agent_decision_keys: ['select', 'insert'],
  agent_decision_reports: ['select', 'insert'],
  agent_reporting: read,
  agent_unlock_reviews: ['select', 'insert'],
  workers: nothing,
  usernames: nothing,
  profiles: nothing,
  profile_skills: nothing,
  consents: nothing,
  consent_changes: nothing,
  identities: nothing,
  identity_changes: nothing,
  sources: nothing,
  source_changes: nothing,
  evidence: nothing,
  evidence_private: nothing,
  evidence_imports: nothing,
  import_ends: nothing,
  score_recomputations: nothing,
  scoring_vocabularies: nothing,
  score_snapshots: nothing,
  score_workings: nothing,
  score_evaluations: nothing,
  score_reissues: nothing,
  engine_recalls: read,
  disputes: nothing,
  dispute_targets: nothing,
  dispute_changes: nothing,
  operation_replays: nothing,
  operator_tokens: nothing,
  audit_log: ['select', 'insert'],
  account_audit: ['select', 'insert'],
  search_entries: read,
  search_terms: read,
  search_queue: nothing,
  search_vocabulary: nothing,
  readable_profiles: nothing,
  readable_scores: nothing,
  gate_profiles: nothing,
  gate_scores: nothing,
  due_reissues: nothing,
  public_profiles: read,
  public_scores: read,
  x402_payments: ['select', 'insert', 'update'],
  x402_prices: ['select', 'insert', 'update'],
}

export type Granted =
  | { kind: 'granted' }
  | { kind: 'no such role' }
  /**
   * The role reaches these tables in another way: it is a superuser, an owner, or a member of a
   * role that has the rights.
   */
  | { kind: 'too mighty'; tables: string[] }

/**
 * Gives the role exactly these rights, all or none. The owner of the tables runs it after each
 * release.
 */
export function grantApiRole(db: Db, role: string): Promise<Granted> {
  return db
    .transaction(async (tx): Promise<Granted> => {
      await tx.run(sql`select pg_advisory_xact_lock(hashtext('api role'))`)
      const [found] = await tx.rows(sql`select 1 from pg_roles where rolname = ${role}`)
      if (found === undefined) return { kind: 'no such role' }
      for (const statement of await grantsFor(tx, role)) await tx.run({ ...statement, values: [] })
      const tables = await reachable(tx, role)
      if (tables.length > 0) throw new TooMighty(tables)
      return { kind: 'granted' }
    })
    .catch((error: unknown) => {
      if (error instanceof TooMighty) return { kind: 'too mighty', tables: error.tables }
      throw error
    })
}

/** Rolls the grants back. */
class TooMighty extends Error {
  readonly tables: string[]
  constructor(tables: string[]) {
    super('the role can reach what it must not')
    this.tables = tables
  }
}

/**
 * Returns the statements as text: a name cannot be a parameter of a grant, so the database quotes
 * it.
 */
function grantsFor(tx: Tx, role: string): Promise<{ text: string; name: string }[]> {
  const tables = Object.keys(apiRights)
  const rights = tables.map((table) => apiRights[table]?.join(', ') ?? '')
  return tx.rows(sql`
    select text, '' as name from (
      select 0 as place, format('grant usage on schema public to %I', ${role}::text) as text
      union all
      select 1, format('revoke all on %s from %I', c.oid::regclass, ${role}::text)
      from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'S')
      union all
      select 2, format('grant %s on %I to %I', rights, name, ${role}::text)
      from unnest(${tables}::text[], ${rights}::text[]) as granted(name, rights) where rights <> ''
    ) statements order by place`)
}

/** Lists the tables on which the role has a right that is not in the table's row. */
async function reachable(tx: Tx, role: string): Promise<string[]> {
  const tables = Object.keys(apiRights)
  const rights = tables.map((table) => apiRights[table]?.join(' ') ?? '')
  const rows = await tx.rows<{ name: string }>(sql`
    select c.relname as name from pg_class c
    left join unnest(${tables}::text[], ${rights}::text[]) as granted(name, rights)
      on granted.name = c.relname
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
      and exists (
        select from unnest(array['select', 'insert', 'update', 'delete']) as one
        where has_table_privilege(${role}::text, c.oid, one)
          and not one = any(string_to_array(coalesce(granted.rights, ''), ' ')))
    order by c.relname`)
  return rows.map(({ name }) => name)
}

/** Returns the tables that the present role does not own, neither itself nor by membership. */
export async function findForeignTables(db: Queryable): Promise<string[]> {
  const rows = await db.rows<{ name: string }>(sql`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relname = any(${Object.keys(apiRights)}::text[])
      and not pg_has_role(relowner, 'usage')
    order by relname`)
  return rows.map(({ name }) => name)
}
