/** A primary and its streaming replicas, from Debian's packages, on Unix sockets. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runningServer } from '../../../src/database/embedded/cluster.ts'
import { signalAll } from '../fault/signal-all.ts'
import { databaseUrl, onServer } from './database.ts'
import {
  missingPostgres,
  ownedFolder,
  postgresBin,
  runAs,
  startGuarded,
} from './debian-postgres.ts'
import { childrenOf, eventually, freePort, isAlive } from './processes.ts'

export const missingReplicas =
  missingPostgres || (!existsSync(join(postgresBin, 'pg_basebackup')) && 'no pg_basebackup')

export interface Streaming {
  /** The database `assay`, with the superuser. */
  url: string
  /** The postmaster and its children. */
  pids(): Promise<number[]>
  start(): Promise<void>
  /** Kills every process that is left. The files stay as after a crash. */
  kill(): Promise<void>
}

interface Primary extends Streaming {
  /** Makes a replica in a new folder and starts it. */
  addReplica(place: string): Promise<Streaming>
}

const settings = ['max_connections=200', 'shared_buffers=64MB', 'fsync=off']

export async function startPrimary(place: string): Promise<Primary> {
  const { port, ...primary } = await serverIn(place)
  const cluster = ['-U', 'assay', '--auth=trust', '--no-sync', '--encoding=UTF8']
  run('initdb', place, ['-D', join(place, 'postgres'), ...cluster, '--locale=C.UTF-8'])
  await primary.start()
  await onServer(databaseUrl(primary.url, 'postgres'), 'create database assay')
  return {
    ...primary,
    async addReplica(replicaPlace) {
      const replica = await serverIn(replicaPlace)
      const from = ['-h', place, '-p', String(port), '-U', 'assay', '-R', '-X', 'stream']
      const to = ['-D', join(replicaPlace, 'postgres'), '-c', 'fast', '--no-sync']
      run('pg_basebackup', replicaPlace, [...from, ...to])
      await replica.start()
      return replica
    },
  }
}

function run(program: string, place: string, args: readonly string[]): void {
  execFileSync(join(postgresBin, program), args, { ...runAs(), cwd: place, stdio: 'pipe' })
}

async function serverIn(place: string): Promise<Streaming & { port: number }> {
  ownedFolder(place)
  const port = await freePort()
  const url = `postgresql://assay@localhost:${port}/assay?host=${encodeURIComponent(place)}`
  const data = join(place, 'postgres')
  const listening = ['-p', String(port), '-k', place, '-h', '']
  const postmaster = () => runningServer(data)?.pid ?? assert.fail(`nothing runs in ${place}`)
  let killPostmaster = async (): Promise<void> => {}
  return {
    url,
    port,
    async start() {
      const { kill } = startGuarded(place, [
        join(postgresBin, 'postgres'),
        '-D',
        data,
        ...listening,
        ...settings.flatMap((one) => ['-c', one]),
      ])
      killPostmaster = kill
      await eventually('PostgreSQL answers', {
        see: () =>
          onServer(databaseUrl(url, 'postgres'), 'select 1').then(
            () => true,
            () => false,
          ),
      })
    },
    async kill() {
      // Without the postmaster, its children would hold the memory that its successor needs.
      const running = runningServer(data)
      const children = running === null ? [] : await childrenOf(running.pid)
      signalAll(children, 'SIGSTOP')
      await killPostmaster()
      signalAll(children, 'SIGKILL')
      await eventually('PostgreSQL is gone', { see: async () => !children.some(isAlive) })
    },
    async pids() {
      const first = postmaster()
      return [first, ...(await childrenOf(first))]
    },
  }
}
