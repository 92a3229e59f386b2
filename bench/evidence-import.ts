/**
 * Measures `assay evidence import` on an embedded database that waits for its disk, and the same
 * lines as a stream to the operator API. The limit
 * beside it: the server copies the same rows from a file (COPY), into a table without keys and into
 * one with the keys and indexes of the real table. Neither limit parses JSON, checks lines, finds
 * duplicates, separates private parts or marks affected scores. EVIDENCE_ROWS sets the number of
 * rows, 200,000 by default.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import flags from '../scripts/runtime/node-flags.json' with { type: 'json' }
import { migrate } from '../src/database/migrate.ts'
import { releasedVocabulary } from '../src/main/scoring.ts'
import { program } from '../test/support/start/program.ts'
import { endWithBench, startPostgres } from './children.ts'
import { report } from './measure.ts'

const rows = Number(process.env.EVIDENCE_ROWS ?? 200_000)
const workers = Math.ceil(rows / 24)
const sources = 40
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')
const file = join(folder, 'evidence.ndjson')
/** Other items of the same workers. */
const streamedFile = join(folder, 'streamed.ndjson')
const env = {
  PATH: process.env.PATH ?? '',
  ASSAY_DATA_DIR: dataDir,
  PORT: '0',
  PUBLIC_URL: 'http://localhost:8080',
}

const pairs = Object.entries(releasedVocabulary()).flatMap(([skillId, { weightPermille }]) =>
  Object.keys(weightPermille).map((type) => ({ skillId, type })),
)

/**
 * Workers come in random order, as in an export by date. A third of the lines has a private part.
 */
function lineOf(n: number, name = 'result'): string {
  const worker = (n * 7_919) % workers
  return JSON.stringify({
    workerId: workerIdOf(worker),
    sourceId: `source-${n % sources}`,
    externalId: `${name}-${n}`,
    ...pairs[(n * 31) % pairs.length],
    value: (n * 97) % 1_001,
    observedOn: new Date(Date.UTC(2024, 0, 1 + (n % 700))).toISOString().slice(0, 10),
    ...(n % 3 === 0
      ? { private: { artifactUrl: `https://example.org/results/${n}`, notes: `Result ${n}` } }
      : {}),
  })
}

function workerIdOf(n: number): string {
  return `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

async function writeLines(path: string, name?: string): Promise<void> {
  const out = createWriteStream(path)
  for (let n = 0; n < rows; n++) if (!out.write(`${lineOf(n, name)}\n`)) await once(out, 'drain')
  out.end()
  await once(out, 'finish')
}

interface Run {
  seconds: number
  /** Processor time of the command, without the database's. */
  cpuMicros: number
  peakBytes: number
}

async function runImport(): Promise<Run> {
  const tell = `data:text/javascript,process.on('exit',()=>process.send(process.resourceUsage()))`
  const startedAt = performance.now()
  const child = endWithBench(
    spawn(
      process.execPath,
      [...flags.flatMemory, '--import', tell, program, 'evidence', 'import', '--from', file],
      {
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        env,
      },
    ),
  )
  const [[usage], [code]] = await Promise.all([once(child, 'message'), once(child, 'exit')])
  if (code !== 0) throw new Error(`the import ended with ${code}`)
  const seconds = (performance.now() - startedAt) / 1_000
  const { maxRSS, userCPUTime, systemCPUTime } = usage
  return { seconds, cpuMicros: userCPUTime + systemCPUTime, peakBytes: maxRSS * 1_024 }
}

/** Sends the lines to a server, from the start of the request to the last line of its answer. */
async function runStream(): Promise<number> {
  const create = ['operators', 'create-token', 'bench', '--role', 'ingest', '--json']
  const made = execFileSync(process.execPath, [...flags.flatMemory, program, ...create], { env })
  const { secret } = JSON.parse(String(made)) as { secret: string }
  const serve = [...flags.flatMemory, program, 'serve', '--no-jobs']
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const server = endWithBench(spawn(process.execPath, serve, { env, stdio: [...stdio] }))
  let port = 0
  for await (const line of createInterface(server.stdout)) {
    port = Number(/"port":(\d+).*"msg":"listening"/.exec(line)?.[1] ?? 0)
    if (port !== 0) break
  }
  server.stdout.resume()
  const startedAt = performance.now()
  const sent = request(`http://127.0.0.1:${port}/api/operator/v1/evidence`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/x-ndjson' },
  })
  createReadStream(streamedFile).pipe(sent)
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  const answer = await text(reply)
  const seconds = (performance.now() - startedAt) / 1_000
  if (!answer.includes(`"added":${rows},`)) throw new Error(`the stream ended with ${answer}`)
  server.kill('SIGTERM')
  await once(server, 'exit')
  return seconds
}

async function secondsOf(client: Client, statement: string): Promise<number> {
  const startedAt = performance.now()
  await client.query(statement)
  return (performance.now() - startedAt) / 1_000
}

try {
  await writeLines(file)
  await writeLines(streamedFile, 'streamed')
  const server = await startPostgres({ dataDir, durable: true })
  const client = new Client({ connectionString: server.url })
  try {
    await migrate(server.url, join(root, 'migrations'), new Date())
    await client.connect()
    await client.query(`
      insert into workers (id, registered_at)
      select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now()
      from generate_series(0, ${workers}) n;
      insert into sources (source_id, name, kind, assurance, independence_group, registered_at, changed_at)
      select 'source-' || n, 'Source ' || n, 'organisation', 700, 'group-' || n / 2, now(), now()
      from generate_series(0, ${sources}) n;
      create table bare (like evidence);
      create table keyed (like evidence including all);
      analyze`)
    const fresh = await runImport()
    const again = await runImport()
    const { rows: found } = await client.query('select count(*)::int as n from evidence')
    if (found[0].n !== rows) throw new Error(`${found[0].n} rows of ${rows} are in`)
    const copied = join(dataDir, 'postgres', 'rows.copy')
    await client.query(`copy evidence to '${copied}'`)
    const bare = await secondsOf(client, `copy bare from '${copied}'`)
    const keyed = await secondsOf(client, `copy keyed from '${copied}'`)
    const streamed = await runStream()
    const perSecond = (seconds: number): number => rows / seconds
    report(`evidence import, ${rows} rows`, [
      {
        name: 'taken in, from start to end of the command',
        value: perSecond(fresh.seconds),
        unit: 'rows/s',
        target: { min: 8_000 },
      },
      {
        name: 'as a stream to the operator API, of the command',
        value: fresh.seconds / streamed,
        unit: '×',
        target: { min: 0.9 },
      },
      { name: 'the same file again', value: perSecond(again.seconds), unit: 'rows/s' },
      {
        name: 'processor time of the command, a row',
        value: fresh.cpuMicros / rows,
        unit: 'µs',
        // A quarter of the time that two cores have for each of 8,000 rows a second; most of the
        // work is the database's.
        target: { max: 62 },
      },
      { name: 'limit: COPY without keys', value: perSecond(bare), unit: 'rows/s' },
      { name: 'limit: COPY with keys and indexes', value: perSecond(keyed), unit: 'rows/s' },
      { name: 'of the limit with keys', value: keyed / fresh.seconds, unit: '×' },
      {
        name: 'peak memory of the command',
        value: Math.max(fresh.peakBytes, again.peakBytes) / 1_048_576,
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
