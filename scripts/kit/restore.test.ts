/**
 * The restore drill: a service whose write-ahead log is archived loses its database, and comes back
 * at a point in time, with the scripts of `deploy/backup/` and the steps of docs/backups.md. Runs
 * with the embedded PostgreSQL and with Debian's, and prints the time of each step.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chownSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { makeKeyFile } from '../../src/credentials/key-files.ts'
import { postgresUser } from '../../src/database/embedded/binaries.ts'
import {
  assay,
  type Env,
  eventually,
  freePort,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'

const scripts = join(import.meta.dirname, '../../deploy/backup')
const [bin = ''] = globSync('/usr/lib/postgresql/1[5-8]/bin')
const walMegabytes = 64
const user = postgresUser()
const asUser = user === null ? {} : { uid: user.uid, gid: user.gid }

interface Service {
  name: string
  /** Holds `data/postgres`, later also `lost/postgres`. */
  place: string
  env: Env
  /** The folder of the keys and of the demo. */
  home: string
  /** The files that a copy holds. A database machine has neither keys nor keyring. */
  copied: string[]
  /** The user of the scripts: the one that owns the database, or root. */
  owner: { uid?: number; gid?: number }
  startPostgres(folder: string): void
  stopPostgres(folder: string): void
  /** Starts the database that was lost. Returns the settings of commands on it. */
  openLost(): Env
  closeLost(): void
}

function embedded(place: string, env: Env): Service {
  const none = () => {}
  const home = join(place, 'data')
  const settings = { ...env, ASSAY_DATA_DIR: home }
  const openLost = () => ({ ...env, ASSAY_DATA_DIR: join(place, 'lost') })
  const copied = ['keys', 'postgres', 'webhook-secrets.keys']
  const mine = { name: 'embedded', place, env: settings, home, copied, owner: {} }
  return { ...mine, startPostgres: none, stopPostgres: none, openLost, closeLost: none }
}

function ofDebian(place: string, env: Env): Service {
  const clusterIn = (folder: string) => join(place, folder, 'postgres')
  const home = join(place, 'home')
  const program = (name: string, ...args: string[]) =>
    execFileSync(join(bin, name), args, { ...asUser, cwd: '/', stdio: 'ignore' })
  const startPostgres = (folder: string) => {
    const log = join(place, 'data/log')
    const at = ['-o', `-h '' -k '${clusterIn(folder)}'`]
    try {
      program('pg_ctl', 'start', '-w', '-D', clusterIn(folder), '-l', log, ...at)
    } catch (error) {
      throw new Error(readFileSync(log, 'utf8').slice(-2_000), { cause: error })
    }
  }
  const stopPostgres = (folder: string) =>
    void program('pg_ctl', 'stop', '-w', '-m', 'fast', '-D', clusterIn(folder))
  makeFolder(join(place, 'data'))
  mkdirSync(home, { mode: 0o700 })
  writeKeyring(home, 'k1')
  const encoding = ['--encoding=UTF8', '--locale=C.UTF-8']
  program('initdb', '-D', clusterIn('data'), '-U', 'assay', '--auth=trust', ...encoding)
  startPostgres('data')
  program('createdb', '-h', clusterIn('data'), '-U', 'assay', 'assay')
  const settings = { ...env, ASSAY_DATA_DIR: home, DATABASE_URL: urlOf(place, 'data') }
  const openLost = () => {
    startPostgres('lost')
    return { ...settings, DATABASE_URL: urlOf(place, 'lost') }
  }
  const name = `Debian ${bin.split('/')[4]}`
  const mine = { name, place, env: settings, home, copied: ['postgres'], owner: asUser }
  const closeLost = () => stopPostgres('lost')
  return { ...mine, startPostgres, stopPostgres, openLost, closeLost }
}

for (const make of [embedded, ofDebian])
  test(`a lost database comes back at a point in time: ${make.name}`, {
    skip: make === ofDebian && bin === '' ? 'needs the package postgresql' : false,
  }, async () => {
    const place = join(temporaryFolder(), 'a place')
    makeFolder(place)
    const port = await freePort()
    const env = { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` }
    await drill(make(place, env))
  })

async function drill(service: Service): Promise<void> {
  const { name, place, env, home } = service
  const print = (what: string, ms: number) => console.log(`${name}: ${what}: ${ms.toFixed(0)} ms`)
  const inPlace = (...names: string[]) => join(place, ...names)
  for (const folder of ['backup', 'backup/wal', 'secrets']) makeFolder(inPlace(folder))

  // As docs/backups.md says: switch the archive on, and take a copy while the service runs.
  await stop(service, await startServer(env, ['--demo']))
  const archive = `"${scripts}/archive-wal" "%p" "%f" "${inPlace('backup/wal')}"`
  const file = inPlace('data/postgres/postgresql.conf')
  appendFileSync(file, `archive_mode = on\narchive_command = '${archive}'\n`)
  service.startPostgres('data')
  const first = await startServer(env, ['--demo'])
  const folders = [inPlace('backup'), ...(home === inPlace('data') ? [inPlace('secrets')] : [])]
  const copy = run(service, 'base-backup', folders)
  assert.equal(copy.code, 0, copy.err)
  const base = copy.out.trim()
  print(`base backup, ${megabytes(base)} MB`, copy.ms)
  const kept = [...readdirSync(inPlace('secrets')), ...readdirSync(base)].sort()
  assert.deepEqual(kept, service.copied)

  await failArchive(service)
  renameSync(inPlace('backup/away'), inPlace('backup/wal'))

  const filler = `select pg_logical_emit_message(false, 'drill', repeat('x', 1048576))`
  await query(service, `${filler} from generate_series(1, ${walMegabytes})`)
  // The name of a copy has seconds, and a time in its second is refused.
  const secondOf = (at: Date) => at.toISOString().replaceAll(/[-:]|\..*/g, '')
  await eventually('the second of the copy is over', {
    see: async () => `base-${secondOf(new Date())}Z` > basename(base),
  })
  const before = await paidRead(first, home)
  const [row] = await query(service, 'select clock_timestamp() as now')
  const time = new Date(row?.now).toISOString()
  const credential = readFileSync(join(home, 'demo/credentials/valid.json'), 'utf8')
  const id = String(JSON.parse(credential).id).replace('urn:uuid:', '')
  await report(['credentials', 'revoke', '--id', id, '--yes'], env)
  assert.equal(await isRevoked(first, credential), true)
  await stop(service, first)

  const target = inPlace('data/postgres')
  const restore = (...at: string[]) => run(service, 'restore', [base, target, ...at])
  assert.match(restore(time).err, /postgres is not empty: rename it first/)
  mkdirSync(inPlace('lost'))
  renameSync(target, inPlace('lost/postgres'))
  const gap = inPlace('backup/wal', walFiles(place).at(-2) ?? '')
  renameSync(gap, `${gap}.away`)
  assert.match(restore().err, /wal lacks [0-9A-F]{24}; the log before it reaches 20\d\d/)
  renameSync(`${gap}.away`, gap)
  assert.match(restore('2026-01-01T00:00:00Z').err, /was made later than 2026-01-01/)
  assert.match(restore('2027-01-01 12:00').err, /lacks its zone/)

  const made = restore(time)
  assert.equal(made.code, 0, made.err)
  print(`restore, with ${megabytes(inPlace('backup/wal'))} MB of log`, made.ms)
  const startedAt = performance.now()
  service.startPostgres('data')
  const second = await startServer(env, ['--demo'])
  await eventually('ready', { see: async () => (await fetch(`${second.base}/readyz`)).ok })
  print('recovery to the point in time, until ready', performance.now() - startedAt)

  const after = await paidRead(second, home)
  assert.equal(after.body, before.body)
  assert.equal(after.credits, before.credits - 1)
  await report(['credits', 'audit'], env)
  await report(['audit', 'verify'], env)
  assert.deepEqual(await doctorFindings(env), [])

  // The point in time forgets the revocation; the lost database still names it.
  assert.equal(await isRevoked(second, credential), false)
  appendFileSync(inPlace('lost/postgres/postgresql.auto.conf'), 'archive_mode = off\n')
  const lost = service.openLost()
  const list = ['audit', 'list', '--since', time, '--action', 'credentials.revoked']
  const { entries } = Object(await report(list, lost))
  service.closeLost()
  const digests = entries.flatMap(({ subjects }: { subjects: string }) => JSON.parse(subjects))
  await report(['credentials', 'revoke', '--digest', ...digests, '--yes'], env)
  assert.equal(await isRevoked(second, credential), true)
  await stop(service, second)
  await restoreAgain(service)

  // PostgreSQL keeps the failure of an archive that is then switched off.
  service.startPostgres('data')
  const third = await startServer(env, ['--demo'])
  await failArchive(service)
  await stop(service, third)
  appendFileSync(join(target, 'postgresql.auto.conf'), 'archive_mode = off\n')
  service.startPostgres('data')
  assert.equal(await doctorSays(env, 'server'), '')
  const newer = await makeKeyFile(join(home, 'keys'))
  assert.match(await doctorSays(env, 'signing'), new RegExp(`the database lacks ${newer}`))
  renameSync(join(home, 'keys'), join(home, 'keys.away'))
  assert.match(await doctorSays(env, 'signing'), /the file of \w+ is not here/)
  const [kid = ''] = readFileSync(join(home, 'webhook-secrets.keys'), 'utf8').split(':')
  writeKeyring(home, kid)
  assert.match(await doctorSays(env, 'secrets'), /this machine has another key of that name/)
  service.stopPostgres('data')
}

/** Takes the folder of the archive away, until `doctor` names it. */
async function failArchive(service: Service): Promise<void> {
  renameSync(join(service.place, 'backup/wal'), join(service.place, 'backup/away'))
  await eventually('doctor names the archive', {
    see: async () => {
      await query(service, 'select pg_switch_wal()')
      return /not archived since/.test(await doctorSays(service.env, 'server'))
    },
  })
}

/** The log goes on after a restore: the next copy is of the restored database, and older ones go. */
async function restoreAgain(service: Service): Promise<void> {
  const { place, env, home } = service
  const target = join(place, 'data/postgres')
  service.startPostgres('data')
  const copy = run(service, 'base-backup', [join(place, 'backup')], { BACKUPS_KEPT: '1' })
  assert.equal(copy.code, 0, copy.err)
  service.stopPostgres('data')
  const left = readdirSync(join(place, 'backup')).filter((name) => name.startsWith('base-'))
  assert.deepEqual(left, [basename(copy.out.trim())])
  renameSync(target, `${target}.away`)
  const made = run(service, 'restore', [copy.out.trim(), target])
  assert.equal(made.code, 0, made.err)
  service.startPostgres('data')
  const server = await startServer(env, ['--demo'])
  await eventually('ready', { see: async () => (await fetch(`${server.base}/readyz`)).ok })
  const credential = readFileSync(join(home, 'demo/credentials/valid.json'), 'utf8')
  assert.equal(await isRevoked(server, credential), true)
  await stop(service, server)
}

/** Runs a script with the settings of the service, as the user that owns the database. */
function run(
  { env, owner, home }: Service,
  script: string,
  args: readonly string[],
  more: Env = {},
) {
  const startedAt = performance.now()
  const { status, stdout, stderr } = spawnSync(join(scripts, script), args, {
    ...owner,
    cwd: '/',
    encoding: 'utf8',
    env: { PATH: `${bin}:${process.env.PATH}`, ...env, ASSAY_DATA_DIR: home, ...more },
  })
  return { code: status, out: stdout, err: stderr, ms: performance.now() - startedAt }
}

async function stop(service: Service, server: ServerProcess): Promise<void> {
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0)
  service.stopPostgres('data')
}

function makeFolder(path: string): void {
  mkdirSync(path, { mode: 0o700 })
  if (user !== null) chownSync(path, user.uid, user.gid)
}

function writeKeyring(home: string, kid: string): void {
  const text = `${kid}:${randomBytes(32).toString('base64')}\n`
  writeFileSync(join(home, 'webhook-secrets.keys'), text, { mode: 0o600 })
}

function urlOf(place: string, folder: string): string {
  const socket = encodeURIComponent(join(place, folder, 'postgres'))
  return `postgresql://assay@localhost/assay?host=${socket}`
}

async function query({ place }: Service, text: string) {
  const client = new Client({ connectionString: urlOf(place, 'data') })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function paidRead({ base }: ServerProcess, home: string) {
  const key = readFileSync(join(home, 'demo/api-key'), 'utf8').trim()
  const response = await fetch(`${base}/api/v1/candidates/demo-amara-okonkwo`, {
    headers: { Authorization: `Bearer ${key}` },
  })
  const body = await response.text()
  assert.equal(response.status, 200, body)
  return { body, credits: Number(response.headers.get('Service-Credits-Remaining')) }
}

async function isRevoked({ base }: ServerProcess, credential: string): Promise<unknown> {
  const response = await fetch(`${base}/api/v1/score-vc/verify`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: credential,
  })
  return Object(await response.json()).revocation.revoked
}

interface Finding {
  check: string
  level: string
  message: string
}

/** Returns the findings that are not in order. */
async function doctorFindings(env: Env): Promise<Finding[]> {
  const { out } = await assay(['doctor', '--json'], env)
  const { findings }: { findings: Finding[] } = JSON.parse(out)
  return findings.filter(({ level }) => level !== 'ok')
}

async function doctorSays(env: Env, check: string): Promise<string> {
  const found = (await doctorFindings(env)).filter((finding) => finding.check === check)
  return found.map(({ message }) => message).join()
}

function walFiles(place: string): string[] {
  const names = readdirSync(join(place, 'backup/wal'))
  return names.filter((name) => /^[0-9A-F]{24}$/.test(name)).sort()
}

function megabytes(folder: string): string {
  const bytes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
  return (bytes / 1_048_576).toFixed(0)
}
