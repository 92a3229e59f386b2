/** A process that fans out and delivers events until it is killed. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../../src/platform/clock.ts'
import { parseKeyring } from '../../../src/platform/crypto/keyring.ts'
import { openDb } from '../../../src/platform/db/db.ts'
import { openEgress } from '../../../src/platform/egress/client.ts'
import { strangerRules } from '../../../src/platform/egress/rules.ts'
import { openLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/platform/observability/metrics.ts'
import { openDeliverer } from '../../../src/webhooks/delivery/deliver.ts'
import { deliveryMeter } from '../../../src/webhooks/delivery/delivery-metrics.ts'
import { releaseExpiredLeases } from '../../../src/webhooks/delivery/leasing-store.ts'
import { fanOutEvents } from '../../../src/webhooks/events/fan-out.ts'
import '../start/timeout-multiplier.ts'

export interface LoopSettings {
  url: string
  ca: string
  ring: string
}

const { url, ca, ring }: LoopSettings = JSON.parse(process.argv[2] ?? '')
const db = openDb({ url, connectionsMax: 8, applicationName: 'deliver loop', onError: () => {} })
const deliverer = openDeliverer({
  db,
  egress: openEgress({
    rules: strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any' }),
    extraCa: ca,
  }),
  clock: systemClock,
  ring: parseKeyring(ring),
  meter: deliveryMeter(createMetrics()),
  log: openLog({ level: 'silent' }),
  retryWaitsSeconds: [1, 1, 1, 1, 1, 1, 1, 1, 1],
})
const { signal } = new AbortController()

async function forEver(work: () => Promise<unknown>): Promise<never> {
  for (;;) {
    // The database may be down for a while. The loop continues when it is back.
    await work().catch(() => undefined)
    await pause(10)
  }
}

const stalls = monitorEventLoopDelay({ resolution: 1 })
stalls.enable()
// Answers each message with the longest stall since the last one, in milliseconds. A stall that
// ends with the message is measured a moment later.
process.on('message', () => {
  setTimeout(() => {
    process.send?.(stalls.max / 1e6)
    stalls.reset()
  }, 2)
})

process.stdout.write('delivering\n')
await Promise.all([
  forEver(() => fanOutEvents(db)),
  forEver(() => deliverer.work(signal)),
  forEver(() => releaseExpiredLeases(db, systemClock())),
])
