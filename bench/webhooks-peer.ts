/**
 * The peer of `webhooks.ts`: the same load on a plain pg-boss worker, installed on demand from its
 * own lock file.
 */
import { execFileSync, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Db, sql } from '../src/platform/db/db.ts'
import { endWithBench } from './children.ts'
import { onceMessage } from './serving.ts'
import {
  ask,
  type BenchReceiver,
  ended,
  fanOut,
  type Lags,
  lagsOf,
  until,
} from './webhooks-setup.ts'

const folder = join(import.meta.dirname, 'peers/pg-boss')

/** Returns false and prints a line if the peer cannot be installed. */
export function installPeer(): boolean {
  if (existsSync(join(folder, 'node_modules'))) return true
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
    return true
  } catch {
    process.stderr.write('pg-boss cannot be installed here: the peer is left out.\n')
    return false
  }
}

export interface PeerParts {
  db: Db
  url: string
  ca: string
  receiver: BenchReceiver
}

/** Batch size and number of loops of the pg-boss worker. A batch ends with its slowest job. */
const shapes = {
  batches: { batchSize: 32, localConcurrency: 8 },
  singly: { batchSize: 1, localConcurrency: 64 },
} as const

export type PeerShape = keyof typeof shapes

async function startPeer({ url, ca, receiver }: PeerParts, bad: readonly string[] = []) {
  const child = endWithBench(fork(join(folder, 'peer.mjs')))
  child.send({ url, ca, receiver: receiver.url, bad })
  await onceMessage(child)
  return {
    order: async (name: string, order: object = {}): Promise<unknown> => {
      const { answer } = await ask<{ answer: unknown }>(child, { name, ...order })
      return answer
    },
    stop: () => ended(child),
  }
}

export interface Drained {
  perSecond: number
  workerUs: number
}

/** Drains a backlog of `count` events, sent in batches over open connections. */
export async function peerDrained(parts: PeerParts, count: number): Promise<Drained> {
  const peer = await startPeer(parts)
  const done = () => until(() => isIdle(parts.db))
  await peer.order('publish', { count: count / 10 })
  await peer.order('work', shapes.batches)
  await done()
  await peer.order('rest')
  await peer.order('publish', { count })
  const cost = Number(await peer.order('cost'))
  const began = performance.now()
  await peer.order('work', shapes.batches)
  await done()
  const perSecond = (count * fanOut * 1_000) / (performance.now() - began)
  const workerUs = (Number(await peer.order('cost')) - cost) / (count * fanOut)
  await peer.stop()
  await parts.db.run(sql`delete from pgboss.job`)
  return { perSecond, workerUs }
}

export async function peerLags(
  parts: PeerParts,
  shape: PeerShape,
  { pace, bad }: { pace: { perSecond: number; seconds: number }; bad: readonly string[] },
): Promise<Lags & { missing: number }> {
  const [publisher, worker] = [await startPeer(parts, bad), await startPeer(parts)]
  await worker.order('work', shapes[shape])
  await parts.receiver.take()
  const publications = (await publisher.order('steadily', { pace })) as [string, number][]
  const committed = new Map(publications)
  await pause(2_000)
  const { arrivals } = await parts.receiver.take()
  await Promise.all([publisher.stop(), worker.stop()])
  await parts.db.run(sql`delete from pgboss.job`)
  const { count, ...lags } = lagsOf(arrivals, committed)
  return { ...lags, missing: committed.size * fanOut - count }
}

async function isIdle(db: Db): Promise<boolean> {
  const rows = await db.rows(sql`select 1 from pgboss.job where state < 'completed' limit 1`)
  return rows.length === 0
}
