/** Brings events to the feed and to subscribed endpoints: client, deliverer and jobs. */
import { recordAction, theService } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { type Egress, openEgress } from '../platform/egress/client.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { createWakeUp, type WakeUp } from '../platform/wake-up.ts'
import { type DelivererParts, openDeliverer } from '../webhooks/delivery/deliver.ts'
import { deliveryMeter } from '../webhooks/delivery/delivery-metrics.ts'
import { countDeliveries } from '../webhooks/delivery/delivery-store.ts'
import { reapLeases } from '../webhooks/delivery/leasing-store.ts'
import { type GaveUp, openNotices } from '../webhooks/delivery/notices.ts'
import { tendEndpoints } from '../webhooks/endpoints/tend-endpoints.ts'
import { placeWaiting } from '../webhooks/events/place.ts'
import type { PlacedEvent } from '../webhooks/events/placing-store.ts'
import { forgetOldDeliveries } from '../webhooks/retention.ts'
import { readAuthorities } from './authorities.ts'

export interface DeliveringParts {
  config: Pick<Config, 'webhooks'>
  db: Db
  log: Log
  clock: Clock
  /** Opens the secrets of endpoints; null: from here nothing is sent, and the feed is kept all the same. */
  ring: Keyring | null
  metrics: Metrics
  /** Another client around the usual one, for the demo. */
  around?: ((usual: Egress) => Egress) | undefined
}

export interface Delivering {
  jobs: Job[]
  /** After the jobs have ended: waits for what is under way, at most 30 seconds, so that nothing is left to run out. */
  close(): Promise<void>
}

export async function openDelivering(parts: DeliveringParts): Promise<Delivering> {
  const { db, log, clock, ring, metrics } = parts
  const meter = deliveryMeter(metrics)
  const wakeUp = createWakeUp()
  const notices = openNotices({ log, metrics, record: enterGaveUp })
  const sender =
    ring === null ? null : await openSender({ ...parts, ring }, { meter, wakeUp, notices })
  const jobs: Job[] = [
    placer(db, (event) => {
      meter.placed(event.type)
      wakeUp.notify()
    }),
    ...(sender === null ? [] : [sender.job]),
    {
      name: 'free lost deliveries',
      everyMs: 5_000,
      run: async () => meter.interrupted(await reapLeases(db, clock())),
    },
    {
      name: 'tend webhook endpoints',
      everyMs: 60_000,
      run: () => tendEndpoints(db, notices, clock()),
    },
    {
      name: 'forget old deliveries',
      everyMs: 3_600_000,
      run: () => forgetOldDeliveries(db, clock()),
    },
    {
      name: 'count deliveries',
      everyMs: 15_000,
      run: async () => {
        const now = clock()
        meter.surveyed(await countDeliveries(db, now), now)
      },
    },
  ]
  return { jobs, close: async () => sender?.close() }
}

/** Where an event has just been another is likely to follow, and is looked for sooner. */
function placer(db: Db, onPlaced: (event: PlacedEvent) => void): Job {
  let placedAt = Number.NEGATIVE_INFINITY
  return {
    name: 'place events',
    get everyMs() {
      return performance.now() - placedAt < 2_000 ? 25 : 100
    },
    async run() {
      if ((await placeWaiting(db, onPlaced)) > 0) placedAt = performance.now()
    },
  }
}

async function openSender(
  parts: DeliveringParts & { ring: Keyring },
  shared: Pick<DelivererParts, 'meter' | 'notices'> & { wakeUp: WakeUp },
): Promise<{ job: Job; close(): Promise<void> }> {
  const { db, log, clock, ring, around = (usual) => usual } = parts
  const { rules, proxyUrl, caFile, retryWaitsSeconds } = parts.config.webhooks
  const extraCa =
    caFile === undefined ? undefined : await readAuthorities('WEBHOOK_CA_FILE', caFile)
  const egress = around(openEgress({ rules, proxyUrl, extraCa }))
  const deliverer = openDeliverer({ db, egress, clock, ring, log, retryWaitsSeconds, ...shared })
  return {
    job: {
      name: 'deliver webhooks',
      get everyMs() {
        return deliverer.restMs()
      },
      wakeUp: shared.wakeUp,
      run: (signal) => deliverer.work(signal),
    },
    async close() {
      await deliverer.finish()
      await egress.close()
    },
  }
}

/** Nobody did it by hand. */
function enterGaveUp(tx: Tx, { endpointIds, reason, at }: GaveUp): Promise<void> {
  const action = 'webhooks.given_up'
  return recordAction(
    tx,
    { actor: theService, action, subjects: endpointIds, details: { reason } },
    at,
  )
}
