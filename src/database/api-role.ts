/**
 * The rights of the database role of a server that only answers requests. The role reaches the
 * tables named here and nothing else. An attacker with a defect in an endpoint, or with the role's
 * connection, reads no private part of the evidence.
 */
import { type Db, type Queryable, sql, type Tx } from '../platform/db/db.ts'

/**
 * Every table is named after its rights, so a new table is out of reach until its rights are decided
 * here. A partition is reached through its table. A row of `accounts` is locked for update, which
 * needs the right.
 */
export const tablesByRights: Readonly<Record<string, string>> = {
  '': `
    credit_audits credit_archives credit_archived_sums workers usernames profiles profile_skills
    consents consent_changes identities identity_changes sources source_changes evidence
    evidence_private evidence_imports import_ends score_recomputations scoring_vocabularies
    score_snapshots score_workings score_evaluations score_reissues disputes dispute_targets
    dispute_changes operation_replays operator_tokens search_queue search_vocabulary
    readable_profiles readable_scores gate_profiles gate_scores due_reissues`,
  select: `
    schema_migrations status_changes status_looks backlog signing_keys status_lists
    score_credentials operators sign_in_links credit_usage credit_usage_marks webhook_events
    webhook_feed_floor webhook_attempts agent_reporting engine_recalls search_entries
    search_terms public_profiles public_scores`,
  'select update': `
    accounts credit_accounts`,
  'select insert': `
    user_identities request_log credit_entries agent_decision_keys agent_decision_reports
    agent_unlock_reviews audit_log account_audit`,
  'select insert delete': `
    invitation_links`,
  'select insert update': `
    process_heartbeats users invitations mail_budget notices_sent user_networks api_keys
    api_key_uses request_counts webhook_endpoints webhook_deliveries x402_payments x402_prices`,
  'select insert update delete': `
    reader_beats rate_windows memberships sessions mails credit_purchases webhook_secrets`,
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

/** The rights on each table. */
export const apiRights: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(tablesByRights).flatMap(([rights, tables]) =>
    words(tables).map((table) => [table, words(rights)]),
  ),
)

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
