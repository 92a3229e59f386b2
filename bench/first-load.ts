/**
 * Measures the first load of an empty embedded database that waits for its disk: people whom search
 * finds, with three consents and an identity check, then LOAD_ITEMS items of evidence each, their
 * scores and credentials. The limits beside it: the server copies the same rows from files (COPY)
 * into empty tables and creates their indexes afterwards, without parsing JSON, checking lines and
 * keeping the gate; then the engine alone and signatures alone. LOAD_PEOPLE sets the number of people.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { migrate } from '../src/database/migrate.ts'
import { startPostgres } from './children.ts'
import {
  assay,
  dataDir,
  evidenceLines,
  folder,
  importLines,
  peopleLines,
  type Run,
  sourceLines,
} from './first-people.ts'
import { type Finding, report } from './measure.ts'
import { engineAlone, signaturesAlone } from './scoring-limits.ts'

const people = Number(process.env.LOAD_PEOPLE ?? 50_000)
const items = Number(process.env.LOAD_ITEMS ?? 20)

/** The tables that a new worker has rows in. */
const peopleTables =
  'workers usernames profiles profile_skills consent_changes consents identity_changes identities webhook_events readable_profiles search_entries search_terms'
/** Those that its evidence, score and credential have rows in. */
const scoreTables =
  'evidence score_snapshots score_workings score_evaluations score_credentials readable_scores'

/** Returns the seconds of the limit. */
async function copyAndIndex(client: Client, tables: string): Promise<number> {
  const fileOf = (table: string): string => join(dataDir, 'postgres', `${table}.copy`)
  const names = tables.split(' ')
  await client.query('drop schema if exists bench_limit cascade; create schema bench_limit')
  for (const table of names)
    await client.query(
      `copy (select * from ${table}) to '${fileOf(table)}';
      create table bench_limit.${table} (like ${table} including defaults including constraints)`,
    )
  const { rows } = await client.query<{ indexdef: string }>(
    `select replace(indexdef, ' public.', ' bench_limit.') as indexdef from pg_indexes
    where schemaname = 'public' and tablename = any($1)`,
    [names],
  )
  const startedAt = performance.now()
  for (const table of names) await client.query(`copy bench_limit.${table} from '${fileOf(table)}'`)
  for (const { indexdef } of rows) await client.query(indexdef)
  const seconds = (performance.now() - startedAt) / 1_000
  await client.query('drop schema bench_limit cascade')
  return seconds
}

async function numberOf(client: Client, expression: string): Promise<number> {
  const { rows } = await client.query(`select (${expression})::float8 as number`)
  return rows[0].number
}

const rate = (name: string, seconds: number): Finding => ({
  name,
  value: people / seconds,
  unit: 'people/s',
})
const processorTimes = (name: string, { command, database }: Run): Finding[] => [
  { name: `${name}: processor time of the command`, value: command / people, unit: 'µs a person' },
  {
    name: `${name}: processor time of the database`,
    value: database / people,
    unit: 'µs a person',
  },
]

try {
  const server = await startPostgres({ dataDir, durable: true })
  const client = new Client({ connectionString: server.url })
  try {
    await migrate(server.url, join(import.meta.dirname, '../migrations'), new Date())
    await client.connect()
    const walBytes = await numberOf(client, `pg_current_wal_lsn() - '0/0'`)
    const loaded = await importLines('workers', 'import', peopleLines(0, people))
    const walOfImport = (await numberOf(client, `pg_current_wal_lsn() - '0/0'`)) - walBytes
    const searchable = await numberOf(client, 'select count(distinct username) from search_terms')
    if (searchable !== people) throw new Error(`${searchable} people are searchable`)
    const limit = await copyAndIndex(client, peopleTables)
    const findings: Finding[] = [
      { ...rate('imported and searchable', loaded.seconds), target: { min: 5_000 } },
      ...processorTimes('import', loaded),
      { name: 'import: write-ahead log', value: walOfImport / people, unit: 'bytes a person' },
      rate('limit: COPY, then CREATE INDEX', limit),
      { name: 'import, of the limit', value: limit / loaded.seconds, unit: '×' },
    ]
    if (items > 0) {
      await assay('keys', 'create')
      await importLines('sources', 'register', sourceLines())
      const evidence = await importLines('evidence', 'import', evidenceLines(0, people, items))
      const scored = await assay('recompute')
      const issued = await numberOf(client, 'select count(*) from score_credentials')
      if (issued !== people) throw new Error(`${issued} credentials were issued`)
      const all = loaded.seconds + evidence.seconds + scored.seconds
      const copied = await copyAndIndex(client, scoreTables)
      const engine = people / (await engineAlone(client))
      const signatures = people / signaturesAlone()
      const limitOfAll = limit + copied + engine + signatures
      findings.push(
        rate(`evidence imported, ${items} items each`, evidence.seconds),
        ...processorTimes('evidence', evidence),
        rate('scored and issued', scored.seconds),
        ...processorTimes('scored and issued', scored),
        rate('imported, searchable, scored and issued', all),
        rate('limit: COPY, then CREATE INDEX, of scores', copied),
        rate('limit: the engine alone', engine),
        rate('limit: signatures alone', signatures),
        rate('limit of all: their sum', limitOfAll),
        { name: 'all, of the limit', value: limitOfAll / all, unit: '×' },
      )
    }
    report(`first load, ${people} people`, findings)
  } finally {
    await client.end()
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
