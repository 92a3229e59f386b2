/**
 * Measures `assay recompute` for workers with six items each, with a credential and an event for
 * every one, on an embedded database that waits for its disk. The limits beside it: the engine
 * alone on the same evidence, and bare signatures. `assay scores export` writes all scores; its
 * limits are brief explanations alone, and PostgreSQL that reads the same rows. Then the key is
 * revoked, and every score gets a new credential and an event. RECOMPUTE_WORKERS sets the number of
 * workers, 20,000 by default.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import flags from '../scripts/runtime/node-flags.json' with { type: 'json' }
import { migrate } from '../src/database/migrate.ts'
import { releasedVocabulary } from '../src/main/scoring.ts'
import { program } from '../test/support/start/program.ts'
import { endWithBench, startPostgres } from './children.ts'
import { report } from './measure.ts'
import { engineAlone, signaturesAlone } from './scoring-limits.ts'

const workers = Number(process.env.RECOMPUTE_WORKERS ?? 20_000)
const itemsEach = 6
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')

const vocabulary = releasedVocabulary()
/** Each skill with its two types of the largest weights. */
const pairs = Object.entries(vocabulary).flatMap(([skillId, { weightPermille }]) =>
  Object.entries(weightPermille)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 2)
    .map(([type]) => ({ skillId, type })),
)

/** Fully public workers with six items: two types of each of three skills, from six groups. */
const fill = `
  insert into workers (id, external_id, registered_at, terms_version, terms_accepted_at, onboarded_at, consent_version)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'hr-' || n, now(), '1', now(), now(), 2
    from generate_series(1, ${workers}) n;
  insert into usernames select sha256(('person-' || n)::bytea),
      ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now() from generate_series(1, ${workers}) n;
  insert into profiles (worker_id, username, username_sha256, display_name, member_since, updated_at)
    select worker_id, 'person-' || n, username_sha256, 'Person ' || n, '2026-05', now()
    from generate_series(1, ${workers}) n join usernames u on u.username_sha256 = sha256(('person-' || n)::bytea);
  insert into consent_changes select id, v, p, true, null, '1', 'bench', now()
    from workers, (values (1, 'public_profile'), (2, 'score_sharing')) as c(v, p);
  insert into consents (worker_id, permission, granted, text_version, consent_version)
    select worker_id, permission, granted, text_version, consent_version from consent_changes;
  insert into identity_changes select id, 1, 'verified', now() + interval '1 year', 'bench', now() from workers;
  insert into identities (worker_id, state, verified_until, change)
    select worker_id, state, verified_until, change from identity_changes;
  insert into sources (source_id, name, kind, assurance, independence_group, registered_at, changed_at)
    select 'source-' || n, 'Source ' || n, 'organisation', 700, 'group-' || n, now(), now() from generate_series(0, 39) n;
  insert into evidence (evidence_id, worker_id, source_id, external_id, skill_id, type, value, observed_on, digest,
      ingested_at, state, state_at)
    select gen_random_uuid(), ('00000000-0000-7000-8000-' || lpad((1 + i / ${itemsEach})::text, 12, '0'))::uuid,
      'source-' || (i * 7 % 40), 'result-' || i, pair ->> 'skillId', pair ->> 'type', i * 97 % 1001,
      date '2026-05-01' - (i % 700)::int, sha256(i::text::bytea), now(), 'active', now()
    from generate_series(0, ${workers * itemsEach - 1}) i, lateral (select $1::jsonb -> ((i - i % 2) * 31 % $2 + i % 2)::int as pair) p`

interface Run {
  seconds: number
  /** Processor time of the command, without the database's. */
  cpuMicros: number
  peakBytes: number
  scored: number
  issued: number
}

async function recompute(...flags: string[]): Promise<Run> {
  const { answer, ...run } = await measured(['recompute', '--json', ...flags])
  const { scored, issued } = answer
  return { ...run, scored, issued }
}

/** Exports all scores, and returns the workers of the report as `scored`. */
async function exportScores(name: string): Promise<Run> {
  const files = ['--out', join(folder, name), '--key-file', join(folder, `${name}.key`)]
  const { answer, ...run } = await measured(['scores', 'export', '--json', ...files])
  return { ...run, scored: answer.workers, issued: 0 }
}

async function measured(args: readonly string[]) {
  const tell = `data:text/javascript,process.on('exit',()=>process.send(process.resourceUsage()))`
  const startedAt = performance.now()
  const child = assay(['--import', tell], args)
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [[usage], [code]] = await Promise.all([once(child, 'message'), once(child, 'close')])
  if (code !== 0)
    throw new Error(`${args[0]} ended with ${code}: ${Buffer.concat(chunks).toString()}`)
  const answer = JSON.parse(Buffer.concat(chunks).toString())
  const seconds = (performance.now() - startedAt) / 1_000
  const { maxRSS, userCPUTime, systemCPUTime } = usage
  const cpuMicros = userCPUTime + systemCPUTime
  return { seconds, cpuMicros, peakBytes: maxRSS * 1_024, answer }
}

function assay(node: readonly string[], args: readonly string[]) {
  return endWithBench(
    spawn(process.execPath, [...flags.flatMemory, ...node, program, ...args], {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      env: {
        PATH: process.env.PATH,
        ASSAY_DATA_DIR: dataDir,
        PUBLIC_URL: 'https://scores.example.org',
      },
    }),
  )
}

/** Revokes the key of all credentials, and waits for the last new one. */
async function replaceKey(client: Client): Promise<{ seconds: number; events: number }> {
  const { rows: keys } = await client.query<{ kid: string }>('select kid from signing_keys')
  for (const args of [
    ['keys', 'create'],
    ['keys', 'rotate', '--now'],
  ])
    await succeed(args)
  const before = await countEvents(client)
  const startedAt = performance.now()
  await succeed(['keys', 'revoke', keys[0]?.kid ?? '', '--yes'])
  const seconds = (performance.now() - startedAt) / 1_000
  return { seconds, events: (await countEvents(client)) - before }
}

async function succeed(args: readonly string[]): Promise<void> {
  const [code] = await once(assay([], args), 'close')
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
}

async function countEvents(client: Client): Promise<number> {
  const { rows } = await client.query('select count(*)::int as events from webhook_events')
  return rows[0].events
}

/** Returns workers a second of PostgreSQL alone, for the rows that the export reads. */
async function rowsAlone(client: Client): Promise<number> {
  const startedAt = performance.now()
  await client.query(`copy (select s.worker_id, s.as_of, s.issued_at, s.engine_sha256, s.vocabulary_sha256, k.evidence
    from score_snapshots s join score_workings k using (snapshot_id) where s.state = 'active') to '/dev/null'`)
  await client.query(`copy (select e.evidence_id, e.source_id, s.kind, e.expires_on
    from evidence e join sources s using (source_id) order by e.worker_id) to '/dev/null'`)
  return (workers * 1_000) / (performance.now() - startedAt)
}

try {
  const server = await startPostgres({ dataDir, durable: true })
  const client = new Client({ connectionString: server.url })
  try {
    await migrate(server.url, join(root, 'migrations'), new Date())
    await client.connect()
    const starting = await exportScores('nothing')
    const evidence = fill.slice(fill.lastIndexOf('insert into evidence'))
    await client.query(fill.slice(0, fill.length - evidence.length))
    await client.query(evidence, [JSON.stringify(pairs), pairs.length])
    await client.query(
      "insert into score_recomputations select id, now(), 'evidence_added' from workers; analyze",
    )
    await succeed(['keys', 'create'])
    const issuing = await recompute()
    const keeping = await recompute('--all')
    const exporting = await exportScores('audit')
    const replaced = await replaceKey(client)
    const perSecond = ({ scored, seconds }: Run): number => scored / seconds
    report(`recompute, ${workers} workers of ${itemsEach} items`, [
      {
        name: 'scored and issued, the whole command',
        value: perSecond(issuing),
        unit: 'workers/s',
        target: { min: 1_500 },
      },
      {
        name: 'of them issued',
        value: (issuing.issued * 100) / workers,
        unit: '%',
        target: { min: 90 },
      },
      { name: 'again, nothing new: --all', value: perSecond(keeping), unit: 'workers/s' },
      {
        name: 'scores export, the whole command',
        value: perSecond(exporting),
        unit: 'workers/s',
      },
      {
        name: 'without its start',
        value: exporting.scored / (exporting.seconds - starting.seconds),
        unit: 'workers/s',
        target: { min: 20_000 },
      },
      {
        name: 'limit: explanations alone',
        value: await engineAlone(client, 'explain'),
        unit: 'workers/s',
      },
      { name: 'limit: its rows alone', value: await rowsAlone(client), unit: 'workers/s' },
      {
        name: 'peak memory of scores export',
        value: exporting.peakBytes / 1_048_576,
        unit: 'MiB',
        target: { max: 300 },
      },
      {
        name: 'after a stolen key: new credentials',
        value: issuing.issued / replaced.seconds,
        unit: 'credentials/s',
      },
      {
        name: 'of them named by an event',
        value: (replaced.events * 100) / issuing.issued,
        unit: '%',
      },
      {
        name: 'processor time of the command, a worker',
        value: issuing.cpuMicros / issuing.scored,
        unit: 'µs',
        target: { max: 666 },
      },
      { name: 'limit: the engine alone', value: await engineAlone(client), unit: 'workers/s' },
      { name: 'limit: signatures alone', value: signaturesAlone(), unit: 'a second' },
      {
        name: 'peak memory of the command',
        value: Math.max(issuing.peakBytes, keeping.peakBytes) / 1_048_576,
        unit: 'MiB',
        target: { max: 300 },
      },
    ])
  } finally {
    await client.end()
    await server.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
