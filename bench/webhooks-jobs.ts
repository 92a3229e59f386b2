/**
 * A jobs process of `webhooks.ts` with the delivery jobs of a server. Reports its processor time on
 * request.
 */
import { readFileSync } from 'node:fs'
import { openWebhookJobs } from '../src/main/webhooks.ts'
import { parseKeyring } from '../src/platform/crypto/keyring.ts'
import { type Db, openDb, type Tx } from '../src/platform/db/db.ts'
import type { Egress } from '../src/platform/egress/client.ts'
import { strangerRules } from '../src/platform/egress/rules.ts'
import { runJobs } from '../src/platform/job-runner.ts'
import { openLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/platform/observability/metrics.ts'
import { retryWaitsSeconds } from '../src/webhooks/delivery/retry.ts'

export interface JobsOrder {
  url: string
  /** PEM file of the receiver's certificate authority. */
  caFile: string
  ring: string
  /** If false, the process answers itself instead of sending. */
  sends: boolean
}

export interface JobsReport {
  /** Microseconds since the start. */
  processorUs: number
  roundTrips: number
  residentBytesMost: number
}

let roundTrips = 0

/** Counts `begin` and `commit` as round trips as well. */
function counting(db: Db): Db {
  const counted = <Queried extends Pick<Tx, 'rows' | 'run'>>(queryable: Queried): Queried => ({
    ...queryable,
    rows: (statement) => {
      roundTrips++
      return queryable.rows(statement)
    },
    run: (statement) => {
      roundTrips++
      return queryable.run(statement)
    },
  })
  return {
    ...counted(db),
    transaction: (work) => {
      roundTrips += 2
      return db.transaction((tx) => work(counted(tx)))
    },
  }
}

const nowhere: Egress = {
  send: () =>
    Promise.resolve({
      outcome: 'answered',
      status: 200,
      headers: {},
      body: Buffer.alloc(0),
      isCut: false,
    }),
  close: () => Promise.resolve(),
}

/** Returns the peak of resident memory on Linux; elsewhere the present value. */
function residentBytesMost(): number {
  try {
    const status = readFileSync('/proc/self/status', 'utf8')
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1_024
  } catch {
    return process.memoryUsage.rss()
  }
}

process.once('message', (order: JobsOrder) => void work(order))

async function work({ url, caFile, ring, sends }: JobsOrder): Promise<void> {
  const db = openDb({
    url,
    connectionsMax: 10,
    connectionWaitMs: 30_000,
    applicationName: 'bench jobs',
    onError: () => {},
  })
  const log = openLog({ level: 'silent' })
  const webhookJobs = await openWebhookJobs({
    config: {
      webhooks: {
        rules: strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any' }),
        proxyUrl: undefined,
        caFile,
        retryWaitsSeconds,
      },
    },
    db: counting(db),
    log,
    clock: () => new Date(),
    ring: parseKeyring(ring),
    metrics: createMetrics(),
    around: sends ? undefined : () => nowhere,
  })
  const ending = new AbortController()
  const working = runJobs(webhookJobs.jobs, { log, signal: ending.signal })
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    const jobsReport = {
      processorUs: user + system,
      roundTrips,
      residentBytesMost: residentBytesMost(),
    }
    process.send?.(jobsReport satisfies JobsReport)
  })
  const leave = async (): Promise<void> => {
    ending.abort()
    await working
    await webhookJobs.close()
    await db.close()
    process.exit(0)
  }
  process.once('disconnect', () => void leave())
  process.send?.('working')
}
