/**
 * Measures the first load of an empty embedded database that waits for its disk: people whom search
 * finds, with three consents and an identity check, then LOAD_ITEMS items of evidence each, their
 * scores and credentials. The limits beside it: the server copies the same rows from files (COPY)
 * into empty tables and creates their indexes afterwards. It parses no JSON, checks no line, keeps
 * no gate, computes nothing and signs nothing. LOAD_PEOPLE sets the number of people.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import flags from '../scripts/runtime/node-flags.json' with { type: 'json' }
import { migrate } from '../src/database/migrate.ts'
import { releasedVocabulary } from '../src/main/released-vocabulary.ts'
import { loadReleasedVocabulary } from '../src/standard/releases.ts'
import { publicLine } from '../test/support/build/workers.ts'
import { program } from '../test/support/start/program.ts'
import { endWithBench, startPostgres } from './children.ts'
import { type Finding, report } from './measure.ts'
import { populationOf } from './search-workers.ts'
import { databaseSeconds, publicUrl } from './serving.ts'

const people = Number(process.env.LOAD_PEOPLE ?? 50_000)
const items = Number(process.env.LOAD_ITEMS ?? 20)
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')
const personOf = populationOf(loadReleasedVocabulary().records)
const skills = Object.entries(releasedVocabulary())

/** The tables that a new worker has rows in. */
const peopleTables =
  'workers usernames profiles profile_skills consent_changes consents identity_changes identities webhook_events readable_profiles search_entries search_terms'
/** Those that its evidence, score and credential have rows in. */
const scoreTables =
  'evidence score_snapshots score_workings score_evaluations score_credentials readable_scores'

function* peopleLines() {
  for (let n = 0; n < people; n++) yield publicLine({ externalId: `hr-${n}`, ...personOf(n) })
}

function* sourceLines() {
  for (let n = 0; n < 40; n++)
    yield { id: `source-${n}`, name: `Source ${n}`, kind: 'accredited', group: `group-${n}` }
}

/** Results of one skill by different sources. */
function* evidenceLines() {
  const observedOn = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10)
  for (let n = 0; n < people; n++) {
    const [skillId = '', { weightPermille } = { weightPermille: {} }] =
      skills[n % skills.length] ?? []
    const types = Object.keys(weightPermille)
    for (let i = 0; i < items; i++)
      yield {
        workerExternalId: `hr-${n}`,
        sourceId: `source-${(n + i * 7) % 40}`,
        externalId: `result-${n}-${i}`,
        skillId,
        type: types[i % types.length],
        value: 300 + ((n * 97 + i * 53) % 600),
        observedOn,
      }
  }
}

interface Run {
  seconds: number
  /** Microseconds of processor time a person. */
  command: number
  database: number
}

async function assay(...args: string[]): Promise<Run> {
  const tell = `data:text/javascript,process.on('exit',()=>process.send(process.resourceUsage()))`
  const env = { PATH: process.env.PATH, ASSAY_DATA_DIR: dataDir, PUBLIC_URL: publicUrl }
  const before = databaseSeconds(dataDir)
  const startedAt = performance.now()
  const child = endWithBench(
    spawn(process.execPath, [...flags.flatMemory, '--import', tell, program, ...args], {
      env,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }),
  )
  const [[usage], [code]] = await Promise.all([once(child, 'message'), once(child, 'exit')])
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
  const seconds = (performance.now() - startedAt) / 1_000
  const database = ((databaseSeconds(dataDir) - before) * 1e6) / people
  return { seconds, command: (usage.userCPUTime + usage.systemCPUTime) / people, database }
}

async function runImport(noun: string, verb: string, lines: Iterable<object>): Promise<Run> {
  const file = join(folder, `${noun}.ndjson`)
  const out = createWriteStream(file)
  for (const line of lines) if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain')
  out.end()
  await once(out, 'finish')
  return assay(noun, verb, '--from', file)
}

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
  { name: `${name}: processor time of the command`, value: command, unit: 'µs a person' },
  { name: `${name}: processor time of the database`, value: database, unit: 'µs a person' },
]

try {
  const server = await startPostgres({ dataDir, durable: true })
  const client = new Client({ connectionString: server.url })
  try {
    await migrate(server.url, join(import.meta.dirname, '../migrations'), new Date())
    await client.connect()
    const walBytes = await numberOf(client, `pg_current_wal_lsn() - '0/0'`)
    const loaded = await runImport('workers', 'import', peopleLines())
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
      await runImport('sources', 'register', sourceLines())
      const evidence = await runImport('evidence', 'import', evidenceLines())
      const scored = await assay('recompute')
      const issued = await numberOf(client, 'select count(*) from score_credentials')
      if (issued !== people) throw new Error(`${issued} credentials were issued`)
      const all = loaded.seconds + evidence.seconds + scored.seconds
      const limitOfScores = await copyAndIndex(client, scoreTables)
      findings.push(
        rate(`evidence imported, ${items} items each`, evidence.seconds),
        ...processorTimes('evidence', evidence),
        rate('scored and issued', scored.seconds),
        ...processorTimes('scored and issued', scored),
        rate('imported, searchable, scored and issued', all),
        rate('limit of all', limit + limitOfScores),
        { name: 'all, of the limit', value: (limit + limitOfScores) / all, unit: '×' },
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
