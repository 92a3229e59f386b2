/**
 * Measures search over SEARCH_PEOPLE candidates (10,000 and 100,000 by default, e.g. 1000000):
 * every prefix of two letters with a match and samples of longer ones, one search at a time on an
 * embedded database, cold and warm; then concurrent searches (search-throughput.ts). On the same
 * rows: ILIKE over the tables, the same with trigrams, and full-text search by prefix; none of
 * these ranks by kind of match. Adding candidates to the filled index is measured alone
 * (search-indexing.ts) and within `assay workers import`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import flags from '../scripts/runtime/node-flags.json' with { type: 'json' }
import { migrate } from '../src/database/migrate.ts'
import { type Db, openDb, txOf } from '../src/platform/db/db.ts'
import { readsOfPrimary } from '../src/platform/db/replicas.ts'
import { loadReleasedVocabulary } from '../src/standard/releases.ts'
import { foldTerm } from '../src/workers/candidates/fold.ts'
import { candidateSearch, type SearchCandidates } from '../src/workers/candidates/search.ts'
import { entryOf } from '../src/workers/candidates/search-indexer.ts'
import { skillNames } from '../src/workers/candidates/skill-names.ts'
import { removeEntries } from '../src/workers/candidates/store.ts'
import { program } from '../test/support/start/program.ts'
import { endWithBench, startPostgres } from './children.ts'
import { type Finding, report } from './measure.ts'
import { addEntries, indexing } from './search-indexing.ts'
import { type Asked, throughput } from './search-throughput.ts'
import { type BenchWorker, populationOf } from './search-workers.ts'

const sizes = (process.env.SEARCH_PEOPLE ?? '10000,100000').split(',').map(Number)
/** Number of queries for each peer that takes a second for one. */
const othersAsked = Number(process.env.SEARCH_OTHERS ?? 20)
const importLines = Number(process.env.SEARCH_IMPORT ?? 20_000)
/** Candidates that are only added to the index, in batches of an import. */
const indexedWorkers = Number(process.env.SEARCH_INDEXED ?? 20_000)
const root = join(import.meta.dirname, '..')
const { records } = loadReleasedVocabulary()
const names = skillNames(records)
const workerOf = populationOf(records)

async function benchOf(workers: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
  // The user that runs the database server must be able to enter.
  chmodSync(folder, 0o755)
  const dataDir = join(folder, 'data')
  const start = () => startPostgres({ dataDir, durable: true })
  try {
    let server = await start()
    await migrate(server.url, join(root, 'migrations'), new Date())
    await load(server.url, workers)
    await server.stop()
    server = await start()
    const findings: Finding[] = []
    await withDb(server.url, async (db) => {
      const search = candidateSearch(readsOfPrimary(db), names)
      const asked = prefixesOf(workers)
      findings.push(...(await latencies(search, asked, 'cold')))
      findings.push(...(await latencies(search, asked, 'warm')))
      findings.push(...(await throughput(db, { names, asked, edit: (n) => edit(db, n % workers) })))
    })
    const entry = (n: number) => entryOf(workerIdOf(n), { ...workerOf(n), avatarUrl: null }, names)
    const order = { workers: indexedWorkers, entryOf: entry, from: 2 * workers }
    if (indexedWorkers > 0) findings.push(...(await indexing(server.url, order)))
    findings.push(...(await others(server.url, prefixesOf(workers))), await sizeOf(server.url))
    // Beyond the candidates of `indexing` and of its copy.
    if (importLines > 0)
      findings.push(...(await imports(dataDir, folder, 3 * (workers + indexedWorkers))))
    await server.stop()
    report(`search, ${workers} people`, findings)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function withDb(url: string, work: (db: Db) => Promise<void>): Promise<void> {
  const db = openDb({ url, connectionsMax: 4, applicationName: 'bench', onError: () => {} })
  await work(db)
  await db.close()
}

/** Loads the tables directly, without triggers and keys, which are created afterwards. */
async function load(url: string, workers: number): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`
    set session_replication_role = replica; set synchronous_commit = off;
    alter table search_terms drop constraint search_terms_pkey; drop index search_terms_by_rank`)
  for (let from = 0; from < workers; from += 2_000) {
    const some = Array.from({ length: Math.min(2_000, workers - from) }, (_, i) =>
      workerOf(from + i),
    )
    await insert(client, some, from)
  }
  await client.query(`
    set maintenance_work_mem = '512MB';
    alter table search_terms add primary key (kind, term, rank, username);
    create index search_terms_by_rank on search_terms (left(term, 2), kind, rank, username, term)`)
  // Analyses only filled tables: statistics of an empty table mislead later plans.
  await client.query(
    'vacuum analyze workers, profiles, profile_skills, search_entries, search_terms',
  )
  await client.end()
}

async function insert(
  client: Client,
  workers: readonly BenchWorker[],
  from: number,
): Promise<void> {
  const ids = workers.map((_, i) => workerIdOf(from + i))
  const usernames = workers.map(({ username }) => username)
  await client.query(
    `with named as (select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) as n(id, username, name, title)),
      worker as (insert into workers (id, registered_at, terms_version, terms_accepted_at, onboarded_at)
        select id, now(), '1', now(), now() from named)
    insert into profiles (worker_id, username, username_sha256, display_name, title, member_since, updated_at)
    select id, username, sha256(convert_to(username, 'UTF8')), name, title, '2026-01', now() from named`,
    [
      ids,
      usernames,
      workers.map(({ displayName }) => displayName),
      workers.map(({ title }) => title),
    ],
  )
  const skills = workers.flatMap((worker, i) =>
    worker.skills.map((skill, place) => ({ id: ids[i], place: place + 1, ...skill })),
  )
  await client.query(
    `insert into profile_skills (worker_id, name, place, verified)
    select * from unnest($1::uuid[], $2::text[], $3::smallint[], $4::boolean[])`,
    [
      skills.map((s) => s.id),
      skills.map((s) => s.name),
      skills.map((s) => s.place),
      skills.map((s) => s.verified),
    ],
  )
  const entries = workers.map((worker, i) =>
    entryOf(workerIdOf(from + i), { ...worker, avatarUrl: null }, names),
  )
  await addEntries(txOf(client), entries)
}

/** Saves a profile anew. */
function edit(db: Db, n: number): Promise<void> {
  const workerId = workerIdOf(n)
  const entry = entryOf(workerId, { ...workerOf(n), avatarUrl: null }, names)
  return db.transaction(async (tx) => {
    await removeEntries(tx, [workerId])
    await addEntries(tx, [entry])
  })
}

function workerIdOf(n: number): string {
  return `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

/** Returns prefixes that occur in skills, names, titles and handles of a sample. */
function prefixesOf(workers: number): Asked[] {
  const texts = Array.from({ length: 4_000 }, (_, i) => workerOf((i * 7_919) % workers)).flatMap(
    ({ username, displayName, title, skills }) => [
      username,
      ...[displayName, title, ...skills.map(({ name }) => name)].map(foldTerm),
    ],
  )
  const words = texts.flatMap((text) => [text, ...text.split(' ')])
  const targets = { p99: 5, max: 15 }
  const ofLength = (length: number, most: number): Asked => {
    const all = [
      ...new Set(
        words.map((each) => each.slice(0, length)).filter((each) => each.length === length),
      ),
    ].sort()
    const step = Math.max(1, Math.floor(all.length / most))
    return { name: `${length} letters`, prefixes: all.filter((_, i) => i % step === 0), targets }
  }
  const whole = [...new Set(words.filter((each) => each.length > 5))].sort()
  return [
    ofLength(2, 676),
    ofLength(3, 1_000),
    ofLength(4, 1_000),
    ofLength(6, 1_000),
    {
      name: 'whole words',
      prefixes: whole.filter((_, i) => i % 11 === 0).slice(0, 1_000),
      targets,
    },
  ]
}

async function timesOf(
  asked: readonly string[],
  ask: (q: string) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = []
  for (const q of asked) {
    const startedAt = performance.now()
    await ask(q)
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)
}

async function latencies(
  search: SearchCandidates,
  asked: readonly Asked[],
  state: 'cold' | 'warm',
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { name, prefixes, targets } of asked) {
    const times = await timesOf(prefixes, (q) => search(q, { limit: 18 }))
    const called = `${name}, ${state}, ${times.length} searches`
    findings.push(...percentiles(called, times, state === 'warm' ? targets : undefined))
  }
  return findings
}

/** Takes sorted times. */
function percentiles(
  called: string,
  times: readonly number[],
  targets?: Asked['targets'],
): Finding[] {
  const at = (share: number): number => times[Math.ceil(times.length * share) - 1] as number
  const figure = (name: string, share: number, max?: number): Finding => {
    const target = max === undefined ? {} : { target: { max } }
    return { name: `${called}: ${name}`, value: at(share), unit: 'ms', ...target }
  }
  return [figure('p50', 0.5), figure('p99', 0.99, targets?.p99), figure('slowest', 1, targets?.max)]
}

/**
 * Queries without the index, by username, because none of them ranks by kind of match. `$1` is the
 * beginning of a text, `$2` of a word.
 */
const ilike = `
  select username from (
    select p.username from profiles p
    where p.username like $1 or p.display_name ilike $1 or p.display_name ilike $2 or p.title ilike $1 or p.title ilike $2
    union
    select p.username from profile_skills s join profiles p using (worker_id) where s.name ilike $1 or s.name ilike $2
  ) found order by username limit 18`
const fullText = `select username from bench_text where words @@ to_tsquery('simple', $1) order by username limit 18`

/**
 * Runs the same queries on the same rows with the peers: two letters and selective ones, as few as
 * time allows.
 */
async function others(url: string, asked: readonly Asked[]): Promise<Finding[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const findings: Finding[] = []
  const compare = async (contender: string, ask: (q: string) => Promise<unknown>) => {
    for (const { name, prefixes } of asked.filter((_, i) => i === 0 || i === 3)) {
      const plain = prefixes.filter((q) => /^[a-z]+$/.test(q))
      const some = plain.filter((_, i) => i % Math.ceil(plain.length / othersAsked) === 0)
      const times = await timesOf(some, ask)
      findings.push(...percentiles(`${contender}, ${name}, ${some.length} searches`, times))
    }
  }
  const byIlike = (q: string) => client.query(ilike, [`${q}%`, `% ${q}%`])
  await compare('ILIKE', byIlike)
  await client.query(`
    set maintenance_work_mem = '512MB'; create extension pg_trgm;
    create index bench_username on profiles using gin (username gin_trgm_ops);
    create index bench_name on profiles using gin (display_name gin_trgm_ops);
    create index bench_title on profiles using gin (title gin_trgm_ops);
    create index bench_skill on profile_skills using gin (name gin_trgm_ops); analyze profiles, profile_skills`)
  await compare('ILIKE with trigrams', byIlike)
  await client.query(`
    create table bench_text as
    select p.username, to_tsvector('simple', concat_ws(' ', p.username, p.display_name, p.title, s.names)) as words
    from profiles p
    left join (select worker_id, string_agg(name, ' ') as names from profile_skills group by worker_id) s using (worker_id);
    create index on bench_text using gin (words); analyze bench_text`)
  await compare('full text', (q) => client.query(fullText, [`${q}:*`]))
  await client.query('drop table bench_text; drop extension pg_trgm cascade')
  await client.end()
  return findings
}

async function sizeOf(url: string): Promise<Finding> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(`
    select (pg_total_relation_size('search_terms') + pg_total_relation_size('search_entries')) / 1048576.0 as size`)
  await client.end()
  return { name: 'size of the index', value: Number(rows[0].size), unit: 'MiB' }
}

/** Imports searchable candidates into the filled index with the operator's command. */
async function imports(dataDir: string, folder: string, from: number): Promise<Finding[]> {
  const file = join(folder, 'workers.ndjson')
  const out = createWriteStream(file)
  for (let n = from; n < from + importLines; n++)
    if (!out.write(lineOf(n))) await once(out, 'drain')
  out.end()
  await once(out, 'finish')
  const startedAt = performance.now()
  const child = endWithBench(
    spawn(
      process.execPath,
      [...flags.flatMemory, program, 'workers', 'import', '--from', file, '--by', 'bench'],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { PATH: process.env.PATH, ASSAY_DATA_DIR: dataDir },
      },
    ),
  )
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the import ended with ${code}`)
  const value = (importLines * 1_000) / (performance.now() - startedAt)
  return [
    {
      name: 'imported, indexed, from start to end',
      value,
      unit: 'people/s',
      target: { min: 8_000 },
    },
  ]
}

function lineOf(n: number): string {
  const consents = ['public_profile', 'search_listing', 'score_sharing'].map((permission) => ({
    permission,
    textVersion: '1',
  }))
  const terms = { version: '1', acceptedAt: '2026-01-01T00:00:00Z' }
  return `${JSON.stringify({ externalId: `person-${n}`, ...workerOf(n), terms, consents })}\n`
}

for (const workers of sizes) await benchOf(workers)
