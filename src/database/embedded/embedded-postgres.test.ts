import assert from 'node:assert/strict'
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { signalAll } from '../../../test/support/fault/signal-all.ts'
import { processStart } from '../../platform/process-mark.ts'
import { runningServer } from './cluster.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'assay-embedded-'))
  after(() => {
    // A failed test may leave its server running.
    const server = runningServer(join(path, 'postgres'))
    if (server !== null) signalAll([server.pid], 'SIGKILL')
    rmSync(path, { recursive: true, force: true, maxRetries: 20 })
  })
  return path
}

/** Returns a folder that the server's user may enter when the test runs as root. */
function openFolder(): string {
  const path = folder()
  chmodSync(path, 0o755)
  return path
}

function start(dataDir: string) {
  return startEmbeddedPostgres({ dataDir, durable: false, log: () => {} })
}

const made = folder()
const maker = await start(made)
await maker.stop()

/** Returns a data directory with an empty cluster: a copy, because `initdb` takes a second. */
function folderWithCluster(path = folder()): string {
  mkdirSync(path, { recursive: true })
  execFileSync('cp', ['-a', join(made, 'postgres'), path])
  return path
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const result = await client.query({ text, rowMode: 'array' })
    return result.rows.flat()
  } finally {
    await client.end()
  }
}

function serverPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
}

interface Holder {
  process: ChildProcessByStdio<Writable, Readable, null>
  url: string
  isStarter: boolean
}

/** Another process that uses the server until its standard input ends. */
async function holder(dataDir: string): Promise<Holder> {
  const script = join(import.meta.dirname, '../../../test/support/start/hold-postgres.ts')
  const child = spawn(process.execPath, [script, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] })
  after(() => child.kill('SIGKILL'))
  for await (const line of createInterface(child.stdout))
    return { process: child, ...(JSON.parse(line) as Pick<Holder, 'url' | 'isStarter'>) }
  throw new Error('the holder ended before it had a server')
}

async function leave({ process: child }: Holder): Promise<void> {
  child.stdin.end()
  if (child.exitCode === null) await once(child, 'exit')
}

test('the first start creates the cluster, the second finds its data, and stop leaves no process', async () => {
  assert.equal(maker.isStarter, true)
  const dataDir = folderWithCluster()
  const first = await start(dataDir)
  assert.equal(first.isStarter, true)
  await query(first.url, 'create table kept as select 7 as n')
  const pid = serverPid(dataDir)
  await first.stop()
  assert.equal(processStart(pid), null)
  const second = await start(dataDir)
  assert.deepEqual(await query(second.url, 'select n from kept'), [7])
  await second.stop()
})

test('the server listens only on a socket in a folder of its owner; text is UTF-8 and sorted by bytes', async () => {
  const server = await start(made)
  assert.deepEqual(await query(server.url, `select current_setting('listen_addresses')`), [''])
  assert.equal(statSync(join(made, 'postgres')).mode & 0o777, 0o700)
  assert.equal(statSync(made).mode & 0o007, 0)
  assert.deepEqual(await query(server.url, `show server_encoding`), ['UTF8'])
  assert.deepEqual(
    await query(server.url, `select w from unnest(array['b', 'a', 'B', 'é', 'f']) w order by w`),
    ['B', 'a', 'b', 'f', 'é'],
  )
  await server.stop()
})

test('a durable server acknowledges a commit only after it is on disk', async () => {
  const server = await startEmbeddedPostgres({
    dataDir: folderWithCluster(),
    durable: true,
    log: () => {},
  })
  const settings = ['fsync', 'full_page_writes', 'synchronous_commit']
  for (const setting of settings)
    assert.deepEqual(await query(server.url, `show ${setting}`), ['on'], setting)
  await server.stop()
})

test('the log of the server quotes no value of a failed statement', async () => {
  const dataDir = folderWithCluster()
  const server = await start(dataDir)
  await query(server.url, `create table people (name text primary key)`)
  const insert = () => query(server.url, `insert into people values ('Ada')`)
  await insert()
  await assert.rejects(insert(), /duplicate key/)
  const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8')
  assert.match(log, /duplicate key/)
  assert.doesNotMatch(log, /Ada/)
  await server.stop()
})

test('two processes that start at once share one server, and the last one stops it', async () => {
  const dataDir = folder()
  const [one, other] = await Promise.all([holder(dataDir), holder(dataDir)])
  assert.notEqual(one.isStarter, other.isStarter)
  assert.equal(one.url, other.url)
  const pid = serverPid(dataDir)
  const [starter, guest] = one.isStarter ? [one, other] : [other, one]
  await leave(starter)
  assert.deepEqual(await query(guest.url, 'select 1'), [1])
  await leave(guest)
  assert.equal(processStart(pid), null)
})

test('after a process is killed, the next process adopts its server and stops it', async () => {
  const dataDir = folderWithCluster()
  const killed = await holder(dataDir)
  const pid = serverPid(dataDir)
  killed.process.kill('SIGKILL')
  await once(killed.process, 'exit')
  const server = await start(dataDir)
  assert.equal(server.isStarter, false)
  assert.equal(serverPid(dataDir), pid)
  await server.stop()
  assert.equal(processStart(pid), null)
})

test('a killed server starts again at once with every committed row', async () => {
  const dataDir = folderWithCluster()
  const first = await start(dataDir)
  await query(first.url, 'create table kept as select generate_series(1, 1000) as n')
  process.kill(serverPid(dataDir), 'SIGKILL')
  const second = await start(dataDir)
  assert.equal(second.isStarter, true)
  assert.deepEqual(await query(second.url, 'select count(*)::int from kept'), [1000])
  await first.stop()
  await second.stop()
})

test('a data directory with a path too long for a socket gets a short socket folder', async () => {
  const dataDir = folderWithCluster(join(openFolder(), 'deep'.repeat(20), 'deeper'.repeat(10)))
  const server = await start(dataDir)
  const socketDir = new URL(server.url).searchParams.get('host') ?? ''
  after(() => rmSync(socketDir, { recursive: true, force: true }))
  assert.ok(socketDir.length < 90, socketDir)
  assert.equal(statSync(socketDir).mode & 0o777, 0o700)
  const second = await start(dataDir)
  assert.deepEqual([second.isStarter, second.url], [false, server.url])
  await server.stop()
  await second.stop()
  assert.equal(existsSync(socketDir), false)
})

test('a lock file from before a reboot does not stop the start, even if its process id is in use again', async () => {
  const dataDir = folderWithCluster()
  const bystander = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
  after(() => bystander.kill('SIGKILL'))
  const lines = [
    bystander.pid,
    join(dataDir, 'postgres'),
    1,
    5432,
    join(dataDir, 'postgres'),
    '',
    '',
  ]
  writeFileSync(join(dataDir, 'postgres/postmaster.pid'), lines.join('\n'))
  const server = await start(dataDir)
  assert.equal(server.isStarter, true)
  await server.stop()
  assert.equal(bystander.exitCode, null)
})

if (existsSync('/proc/self/stat')) {
  test('the lock file of a killed server that is still a zombie does not stop the start', async () => {
    const dataDir = folderWithCluster()
    const cluster = join(dataDir, 'postgres')
    // The server's user, because PostgreSQL ignores processes of other users. The shell turns into
    // a program that never waits for its child.
    const { uid, gid } = statSync(cluster)
    const script = ['-c', 'sleep 600 & echo $!; exec sleep 600']
    const careless = spawn('/bin/sh', script, { uid, gid, cwd: '/' })
    after(() => careless.kill('SIGKILL'))
    const [line] = await once(createInterface(careless.stdout), 'line')
    while (!readFileSync(`/proc/${careless.pid}/cmdline`, 'utf8').startsWith('sleep')) await wait(5)
    process.kill(Number(line), 'SIGKILL')
    while (processStart(Number(line)) !== null) await wait(5)
    assert.ok(process.kill(Number(line), 0), 'the id is still in use')
    writeFileSync(join(cluster, 'postmaster.pid'), `${line}\n${cluster}\n1\n5432\n${cluster}\n\n`)
    const server = await start(dataDir)
    assert.equal(server.isStarter, true)
    await server.stop()
  })
}

test('an interrupted creation of the cluster is started over', async () => {
  const dataDir = folder()
  mkdirSync(join(dataDir, 'postgres.new-1/base'), { recursive: true })
  const server = await start(dataDir)
  assert.deepEqual(await query(server.url, 'select 1'), [1])
  await server.stop()
})

test('a cluster of another major version stays untouched, and the error says how to move its data', async () => {
  const dataDir = folder()
  mkdirSync(join(dataDir, 'postgres'))
  writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '15\n')
  await assert.rejects(
    start(dataDir),
    /PostgreSQL 15.*runs PostgreSQL 18.*Nothing was changed.*dump/,
  )
  assert.deepEqual(readdirSync(join(dataDir, 'postgres')), ['PG_VERSION'])
})

test('the error of a server that cannot start quotes the end of its log', async () => {
  const dataDir = folderWithCluster()
  writeFileSync(join(dataDir, 'postgres/postgresql.conf'), 'no_such_setting = 1\n')
  await assert.rejects(start(dataDir), /did not start: exit code 1[^]*no_such_setting/)
})

if (process.getuid?.() === 0) {
  test('root, in a folder closed to others: another user runs the server and may enter the folder, not read it', async () => {
    const dataDir = join(openFolder(), 'data')
    mkdirSync(dataDir, { mode: 0o700 })
    const server = await start(dataDir)
    assert.notEqual(statSync(join(dataDir, 'postgres')).uid, 0)
    assert.equal(statSync(dataDir).uid, 0)
    assert.equal(statSync(dataDir).mode & 0o777, 0o710)
    await server.stop()
  })

  test('root, below a folder the server cannot enter: the error names the folder and its mode stays', async () => {
    const closed = folder()
    chmodSync(closed, 0o700)
    const dataDir = join(closed, 'data')
    await assert.rejects(
      start(dataDir),
      new RegExp(`may not enter ${closed}\\. Set ASSAY_DATA_DIR`),
    )
    assert.equal(statSync(closed).mode & 0o777, 0o700)
    assert.equal(existsSync(join(dataDir, 'postgres')), false)
  })
}
