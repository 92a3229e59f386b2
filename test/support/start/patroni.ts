/**
 * Three databases with Patroni and etcd on three machines, and HAProxy in front of them on this
 * one, with the files of deploy/patroni/. Only what an operator replaces in a file is replaced, and
 * the folders.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { runningServer } from '../../../src/database/embedded/cluster.ts'
import { signalAll } from '../fault/signal-all.ts'
import {
  type Guarded,
  missingPostgres,
  ownedFolder,
  postgresBin,
  runAs,
  startGuarded,
} from './debian-postgres.ts'
import { editedFile } from './edited-file.ts'
import { type Machine, missingNamespaces, startMachines } from './machines.ts'
import { childrenOf, eventually } from './processes.ts'
import { testAuthority } from './receiver.ts'

const missingProgram = ['patroni', 'etcd', 'haproxy'].find(
  (name) => !existsSync(`/usr/bin/${name}`) && !existsSync(`/usr/sbin/${name}`),
)

/** The reason why it cannot run, or false. */
export const missingPatroni =
  missingPostgres ||
  (missingProgram !== undefined && `no ${missingProgram}: install the package ${missingProgram}`) ||
  missingNamespaces()

/** A program that is killed and started again. */
export interface Restarted {
  pids(): Promise<number[]>
  kill(): Promise<void>
  start(): void
  stop(): Promise<void>
}

export interface Member {
  name: string
  machine: Machine
  patroni: Restarted
  etcd: Restarted
  /** The process ids of PostgreSQL, the first is the postmaster's. */
  postgres(): Promise<number[]>
  /** The URL of this member, whether it leads or not. */
  url(user: string, database: string): string
}

export interface PatroniCluster {
  members: Member[]
  haproxy: Restarted
  /** Seconds after which a lost leader is replaced, as the file says. */
  ttlSeconds: number
  /** The URL of the leader, by HAProxy. */
  url(user: string, database: string): string
  leader(): Promise<Member>
  synchronousStandby(): Promise<Member>
  etcdLeader(): Promise<Member>
  switchOver(): Promise<void>
  /** Waits until a member leads, another is its synchronous standby, and the third follows. */
  whole(): Promise<void>
  stop(): Promise<void>
}

/** The password of the superuser `postgres` in the file. */
export const superuser = 'postgres:REPLACE-1'

const configFile = 'deploy/patroni/patroni.yml'

export async function startPatroni(folder: string): Promise<PatroniCluster> {
  const { machines, stop: stopMachines } = startMachines(folder, {
    'database-1': '10.0.0.21',
    'database-2': '10.0.0.22',
    'database-3': '10.0.0.23',
  })
  const authority = testAuthority()
  writeFileSync(join(folder, 'ca.pem'), authority.cert)
  const urlAt = (host: string) => (user: string, database: string) =>
    `postgres://${user}@${host}:5432/${database}?sslmode=verify-full&sslrootcert=${join(folder, 'ca.pem')}`

  const members = machines.map((machine): Member => {
    const { name, address, disk } = machine
    const { cert, key } = authority.certify('localhost', '127.0.0.1', address)
    const config = editedFile(configFile, [
      ['name: database-1', `name: ${name}`],
      ['10.0.0.21:8008', `${address}:8008`],
      ['10.0.0.21:5432', `${address}:5432`],
      ['/etc/patroni', disk],
      ['/var/lib/postgresql/assay', join(disk, 'postgres')],
      ['/usr/lib/postgresql/15/bin', postgresBin],
      ['    ssl: "on"', `    ssl: "on"\n    unix_socket_directories: ${disk}`],
    ])
    place(disk, { 'config.yml': config, 'fullchain.pem': cert, 'privkey.pem': key })
    const file = join(disk, 'config.yml')
    const { stdout } = spawnSync('patroni', ['--validate-config', file], { encoding: 'utf8' })
    assert.doesNotMatch(stdout, /didn't pass/)
    const etcdFolder = join(folder, `etcd-${name}`)
    ownedFolder(etcdFolder)
    return {
      name,
      machine,
      patroni: restarted(() => startGuarded(disk, ['/usr/bin/patroni', file], machine)),
      etcd: restarted(() => startGuarded(etcdFolder, etcdCommand(machine, machines), machine)),
      postgres: async () => {
        const { pid } = runningServer(join(disk, 'postgres')) ?? assert.fail('no PostgreSQL')
        return [pid, ...(await childrenOf(pid))]
      },
      url: urlAt(address),
    }
  })
  const front = join(folder, 'haproxy')
  ownedFolder(front)
  place(front, {
    'haproxy.cfg': editedFile('deploy/patroni/haproxy.cfg', [
      ['  user haproxy\n  group haproxy\n', ''],
    ]),
  })
  const haproxy = restarted(() =>
    startGuarded(front, ['/usr/sbin/haproxy', '-W', '-db', '-f', join(front, 'haproxy.cfg')]),
  )

  const byName = (name: string | undefined) =>
    members.find((one) => one.name === name) ?? assert.fail(`no member ${name}`)
  const url = urlAt('localhost')
  /** Asks the members one after the other, because one of them may be away. */
  const states = async (): Promise<PatroniState[]> => {
    for (const { machine } of members) {
      const answer = await fetch(`http://${machine.address}:8008/cluster`, {
        signal: AbortSignal.timeout(1_000),
      }).catch(() => null)
      if (answer?.ok) return ((await answer.json()) as { members: PatroniState[] }).members
    }
    return []
  }
  const withRole = async (role: string) => {
    const { value } = await eventually(`a ${role}`, {
      see: async () => (await states()).find((one) => one.role === role)?.name,
    })
    return byName(value)
  }
  const cluster: PatroniCluster = {
    members,
    haproxy,
    ttlSeconds: Number(/^ +ttl: (\d+)$/m.exec(readFileSync(configFile, 'utf8'))?.[1]),
    url,
    leader: () => withRole('leader'),
    synchronousStandby: () => withRole('sync_standby'),
    async etcdLeader() {
      const asked = members.map(async ({ name, machine }) => {
        const answer = await fetch(`http://${machine.address}:2379/v3/maintenance/status`, {
          method: 'POST',
          body: '{}',
        })
        const { leader, header } = (await answer.json()) as EtcdStatus
        return leader === header.member_id ? name : []
      })
      return byName((await Promise.all(asked)).flat()[0])
    },
    async switchOver() {
      const [from, to] = [await cluster.leader(), await cluster.synchronousStandby()]
      const answer = await fetch(`http://${from.machine.address}:8008/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: from.name, candidate: to.name }),
      })
      assert.equal(answer.status, 200, await answer.text())
    },
    async whole() {
      await eventually('all members are in their places', {
        withinMs: 180_000,
        see: async () => {
          const roles = (await states()).flatMap(({ role, state, lag }) =>
            (state === 'running' || state === 'streaming') && lag !== 'unknown' ? [role] : [],
          )
          if (roles.toSorted().join() !== 'leader,replica,sync_standby') return false
          // Patroni shows a standby as running before it follows.
          const follow = `select 1 from pg_stat_replication where state = 'streaming'`
          return (await rowsAt(url(superuser, 'postgres'), follow).catch(() => [])).length === 2
        },
      }).catch(async (error) => {
        const logs = members.map(({ name, machine: { disk } }) => {
          const lines = readFileSync(join(disk, 'log'), 'utf8').split('\n')
          return `${name}:\n${lines.slice(-30).join('\n')}`
        })
        throw new Error(`${JSON.stringify(await states())}\n${logs.join('\n')}`, { cause: error })
      })
    },
    async stop() {
      for (const { machine } of members) machine.setConnected(true)
      await haproxy.stop()
      for (const { patroni } of members) await patroni.stop()
      for (const { machine, etcd } of members) {
        await etcd.stop()
        const left = runningServer(join(machine.disk, 'postgres'))
        if (left !== null) signalAll([left.pid, ...(await childrenOf(left.pid))], 'SIGKILL')
      }
      stopMachines()
    },
  }
  for (const { etcd } of members) etcd.start()
  for (const { patroni } of members) patroni.start()
  haproxy.start()
  await cluster.whole()
  return cluster
}

/** Returns the rows of a statement from the server at this address. */
export async function rowsAt<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(statement)).rows as Row[]
  } finally {
    await client.end()
  }
}

interface PatroniState {
  name: string
  role: string
  state: string
  lag?: number | 'unknown'
}

interface EtcdStatus {
  leader: string
  header: { member_id: string }
}

function etcdCommand({ name, address }: Machine, all: readonly Machine[]): string[] {
  const flags = {
    name,
    'enable-v2': 'true',
    'listen-client-urls': `http://${address}:2379`,
    'advertise-client-urls': `http://${address}:2379`,
    'listen-peer-urls': `http://${address}:2380`,
    'initial-advertise-peer-urls': `http://${address}:2380`,
    'initial-cluster': all.map((one) => `${one.name}=http://${one.address}:2380`).join(),
  }
  return ['/usr/bin/etcd', ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)]
}

function restarted(begin: () => Guarded): Restarted {
  let running: Guarded | undefined
  const end = async (how: 'stop' | 'kill') => {
    const ended = running
    running = undefined
    await ended?.[how]()
  }
  return {
    async pids() {
      const pid = (await running?.pid()) ?? assert.fail('it does not run')
      return [pid, ...(await childrenOf(pid))]
    },
    kill: () => end('kill'),
    start: () => {
      running = begin()
    },
    stop: () => end('stop'),
  }
}

/** Writes files that only the user of the programs reads. */
function place(folder: string, files: Record<string, string>): void {
  const { uid = process.getuid?.(), gid = process.getgid?.() } = runAs()
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    writeFileSync(file, text, { mode: 0o600 })
    execFileSync('chown', [`${uid}:${gid}`, file])
  }
}
