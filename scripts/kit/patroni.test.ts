/** Three databases with Patroni, one etcd and HAProxy, each with its file of deploy/patroni/. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runningServer } from '../../src/database/embedded/cluster.ts'
import { openDb, sql } from '../../src/platform/db/db.ts'
import { newKey } from '../../test/support/build/keys.ts'
import { assertCharged, payingLoad } from '../../test/support/fault/paying-load.ts'
import { onServer } from '../../test/support/start/database.ts'
import {
  missingPostgres,
  ownedFolder,
  postgresBin,
  runAs,
  startGuarded,
} from '../../test/support/start/debian-postgres.ts'
import { editedFile } from '../../test/support/start/edited-file.ts'
import {
  assay,
  eventually,
  freePort,
  report,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'
import { testAuthority } from '../../test/support/start/receiver.ts'

const missing = ['patroni', 'etcd', 'haproxy'].find(
  (name) => !existsSync(`/usr/bin/${name}`) && !existsSync(`/usr/sbin/${name}`),
)
const skip =
  missingPostgres || (missing !== undefined && `no ${missing}: install the package ${missing}`)

const folder = temporaryFolder()
const authority = testAuthority()

/** Writes files that only the user of the programs reads, into a folder of their own. */
function place(name: string, files: Record<string, string>): string {
  const path = join(folder, name)
  ownedFolder(path)
  const { uid = process.getuid?.(), gid = process.getgid?.() } = runAs()
  for (const [file, text] of Object.entries(files)) {
    writeFileSync(join(path, file), text, { mode: 0o600 })
    execFileSync('chown', [`${uid}:${gid}`, join(path, file)])
  }
  return path
}

test('a killed leader is replaced by its standby, and no answered call is lost or charged twice', {
  skip,
}, async (t) => {
  const [etcd, peer, front] = [await freePort(), await freePort(), await freePort()]
  const urls = { client: `http://127.0.0.1:${etcd}`, peer: `http://127.0.0.1:${peer}` }
  const etcdPlace = place('etcd', {})
  const etcdFlags = {
    'data-dir': join(etcdPlace, 'data'),
    'listen-client-urls': urls.client,
    'advertise-client-urls': urls.client,
    'listen-peer-urls': urls.peer,
    'initial-advertise-peer-urls': urls.peer,
    'initial-cluster': `default=${urls.peer}`,
  }
  after(
    startGuarded(etcdPlace, [
      '/usr/bin/etcd',
      ...Object.entries(etcdFlags).map(([name, value]) => `--${name}=${value}`),
    ]).stop,
  )

  const members = await Promise.all(
    [1, 2, 3].map(async (number) => {
      const [port, rest] = [await freePort(), await freePort()]
      const path = join(folder, `database-${number}`)
      const config = editedFile('deploy/patroni/patroni.yml', [
        ['name: database-1', `name: database-${number}`],
        ['10.0.0.21:8008', `127.0.0.1:${rest}`],
        [
          '    - 10.0.0.21:2379\n    - 10.0.0.22:2379\n    - 10.0.0.23:2379',
          `    - 127.0.0.1:${etcd}`,
        ],
        ['10.0.0.21:5432', `127.0.0.1:${port}`],
        ['10.0.0.0/24', '127.0.0.0/8'],
        ['/etc/patroni', path],
        ['/var/lib/postgresql/assay', join(path, 'postgres')],
        ['/usr/lib/postgresql/15/bin', postgresBin],
        ['    ssl: "on"', `    ssl: "on"\n    unix_socket_directories: ${path}`],
      ])
      const { cert, key } = authority.certify('localhost', '127.0.0.1')
      place(`database-${number}`, {
        'config.yml': config,
        'fullchain.pem': cert,
        'privkey.pem': key,
      })
      const { stdout } = spawnSync('patroni', ['--validate-config', join(path, 'config.yml')], {
        encoding: 'utf8',
      })
      assert.doesNotMatch(stdout, /didn't pass/)
      return { number, port, rest, path }
    }),
  )
  const patronis = members.map(({ path }) =>
    startGuarded(path, ['/usr/bin/patroni', join(path, 'config.yml')]),
  )
  after(() => Promise.all(patronis.map(({ stop }) => stop())))
  const [one, two, three] = members
  assert.ok(one && two && three)
  const frontPlace = place('haproxy', {
    'haproxy.cfg': editedFile('deploy/patroni/haproxy.cfg', [
      ['  user haproxy\n  group haproxy\n', ''],
      ['127.0.0.1:5432', `127.0.0.1:${front}`],
      ['10.0.0.21:5432', `127.0.0.1:${one.port} port ${one.rest}`],
      ['10.0.0.22:5432', `127.0.0.1:${two.port} port ${two.rest}`],
      ['10.0.0.23:5432', `127.0.0.1:${three.port} port ${three.rest}`],
    ]),
  })
  after(
    startGuarded(frontPlace, [
      '/usr/sbin/haproxy',
      '-W',
      '-db',
      '-f',
      join(frontPlace, 'haproxy.cfg'),
    ]).stop,
  )

  writeFileSync(join(folder, 'ca.pem'), authority.cert)
  const urlOf = (user: string, database: string) =>
    `postgres://${user}@localhost:${front}/${database}?sslmode=verify-full&sslrootcert=${join(folder, 'ca.pem')}`
  const superuser = urlOf('postgres:REPLACE-1', 'postgres')
  const optional = (work: Promise<unknown>) =>
    work.then(
      () => true,
      () => false,
    )
  await eventually('the leader takes writes', {
    see: () => optional(onServer(superuser, `create role assay login password 'secret'`)),
  })
  await onServer(superuser, 'create database assay owner assay')
  const env = {
    DATABASE_URL: urlOf('assay:secret', 'assay'),
    ASSAY_DATA_DIR: join(folder, 'data'),
    PUBLIC_URL: 'https://scores.example.org',
    SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    KEY_CALLS_PER_MINUTE: '1000000',
    KEY_CALLS_PER_DAY: '100000000',
  }
  await report(['migrate'], env)
  await report(['keys', 'create'], env)
  const db = openDb({
    url: env.DATABASE_URL,
    connectionsMax: 2,
    applicationName: 'kit',
    onError: () => {},
  })
  after(() => db.close())
  const watch = openDb({
    url: superuser,
    connectionsMax: 1,
    applicationName: 'kit',
    onError: () => {},
  })
  await eventually('a standby is synchronous', {
    see: async () =>
      (await watch.rows(sql`select 1 from pg_stat_replication where sync_state = 'sync'`)).length >
      0,
  })
  await watch.close()
  const credits = 1_000_000
  const key = await newKey(db, { credits })
  const { base } = await startServer(env)
  const { calls, ended, stop } = payingLoad(base, key)
  await eventually('calls are answered', { see: async () => calls.answered.length > 200 })

  const leads = await Promise.all(
    members.map(async ({ rest }) => (await fetch(`http://127.0.0.1:${rest}/primary`)).ok),
  )
  const leader = leads.indexOf(true)
  const postmaster = runningServer(join(members[leader]?.path ?? '', 'postgres'))
  const killedAt = performance.now()
  await patronis[leader]?.kill()
  process.kill(postmaster?.pid ?? assert.fail('no postmaster'), 'SIGKILL')
  const before = calls.answered.length
  await eventually('calls are answered again', {
    see: async () => calls.answered.length > before + 200,
  })
  const seconds = (performance.now() - killedAt) / 1_000
  stop()
  await ended
  // A call whose commit was under way at the kill gets 503, whether it took effect or not.
  const summary = await assertCharged(db, key, { calls, credits, refusedMax: 24 })
  t.diagnostic(`200 calls were answered ${seconds.toFixed(0)} s after the kill. ${summary}`)
  assert.equal((await assay(['doctor'], env)).ended, 0)
})
