/**
 * Grows a filled database for a benchmark: copies every worker with what import, scoring and issuing
 * made of it, except for histories and events, which no measured operation reads. A copy has ids of
 * its own, its username ends with the number of the copy, and its credential names a status list
 * that does not exist. Statements skip triggers, and the indexes are made afterwards.
 */
import type { Client } from 'pg'

/** Copy 0 is the original. */
export const usernameOfCopy = (username: string, copy: number): string =>
  copy === 0 ? username : `${username}-${copy}`

const tables =
  'workers usernames profiles profile_skills consents identities readable_profiles search_entries search_terms evidence score_snapshots score_workings score_evaluations score_credentials readable_scores'.split(
    ' ',
  )

/** How a copy's value of a column is made. Other columns keep theirs. */
const copied: Record<string, string> = {
  worker_id: 'md5(worker_id::text || copy)::uuid',
  evidence_id: 'md5(evidence_id::text || copy)::uuid',
  credential_id: 'md5(credential_id::text || copy)::uuid',
  external_id: `external_id || '-' || copy`,
  username: `username || '-' || copy`,
  username_sha256: `sha256(convert_to(username || '-' || copy, 'UTF8'))`,
  hit: `replace(hit, username, username || '-' || copy)`,
  snapshot_id: `sha256(snapshot_id || copy::text::bytea)`,
  vc_sha256: `sha256(vc_sha256 || copy::text::bytea)`,
  status_token: `sha256(status_token || copy::text::bytea)`,
  subject: `subject || '-' || copy`,
  list_id: `list_id || '-' || copy`,
}
const ofTable: Record<string, Record<string, string>> = {
  workers: { id: 'md5(id::text || copy)::uuid' },
}
/** `usernames` holds only hashes. */
const sources: Record<string, string> = {
  usernames:
    '(select worker_id, username, username_sha256, taken_at from profiles join usernames using (worker_id, username_sha256)) named',
}

/** Adds `copies` copies of each worker. The database must hold no other copies. */
export async function copyWorkers(client: Client, copies: number): Promise<void> {
  await withoutIndexes(client, tables, async () => {
    for (const table of tables) await copyRows(client, table, copies)
  })
}

async function copyRows(client: Client, table: string, copies: number): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
    where attrelid = $1::regclass and attnum > 0 and not attisdropped
      and attidentity = '' and attgenerated = ''`,
    [table],
  )
  const names = rows.map(({ name }) => name)
  const values = names.map((name) => ofTable[table]?.[name] ?? copied[name] ?? `"${name}"`)
  await client.query(
    `insert into ${table} (${names.map((name) => `"${name}"`).join(', ')})
    select ${values.join(', ')} from ${sources[table] ?? table}, generate_series(1, $1::int) copy`,
    [copies],
  )
}

/** Runs `work` without triggers and with these tables' indexes off, then makes the indexes anew. */
export async function withoutIndexes(
  client: Client,
  names: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  await client.query(
    `update pg_index set indisready = false where indrelid in (
      select relid from unnest($1::text[]) name, pg_partition_tree(name::regclass))`,
    [names],
  )
  await client.query('set session_replication_role = replica')
  await work()
  await client.query('set session_replication_role = origin')
  for (const name of names) await client.query(`reindex table ${name}`)
}
