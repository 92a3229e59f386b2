/**
 * The only way for a benchmark to start processes. All of them end with the benchmark: after its
 * last measurement, after an error, and after SIGINT, SIGTERM or SIGHUP.
 */
import { type ChildProcess, fork, type Serializable } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'
import { runningServer } from '../src/database/embedded/cluster.ts'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../src/database/embedded/embedded-postgres.ts'

const children = new Set<ChildProcess>()
const clusters = new Set<string>()

process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  // SIGQUIT shuts PostgreSQL down at once and without a checkpoint: its data is not needed.
  for (const cluster of clusters) {
    const server = runningServer(cluster)
    if (server !== null) process.kill(server.pid, 'SIGQUIT')
  }
})

// The default action of a signal skips the listeners of `exit`.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]))

/** Ends this process with the benchmark. */
export function endWithBench<Child extends ChildProcess>(child: Child): Child {
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** Forks a file of this folder and sends it its order. */
export function forkBench(file: string, order: Serializable): ChildProcess {
  const child = endWithBench(fork(join(import.meta.dirname, file)))
  child.send(order)
  return child
}

/** Starts an embedded PostgreSQL. `durable`: it waits for its disk. */
export async function startPostgres(
  options: Omit<EmbeddedPostgresOptions, 'log'>,
): Promise<EmbeddedPostgres> {
  const cluster = join(options.dataDir, 'postgres')
  clusters.add(cluster)
  const server = await startEmbeddedPostgres({ ...options, log: () => {} })
  return {
    ...server,
    stop: async () => {
      await server.stop()
      clusters.delete(cluster)
    },
  }
}
