/** Composes the fan-out and delivery of webhooks: client, deliverer and jobs. */
import { theService } from '../audit/actions.ts'
import { recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { type Egress, openEgress } from '../platform/egress/client.ts'
import { createWakeUp, type Job, type WakeUp } from '../platform/job-runner.ts'
import { openFilesMax, receiversWithin } from '../platform/open-files.ts'
import {
  type DispatchedEvent,
  findOwners,
  findSealedSamples,
  releaseExpiredLeases,
} from '../webhooks/api.ts'
import { type DelivererOptions, openDeliverer } from '../webhooks/delivery/deliver.ts'
import { deliveryMeter } from '../webhooks/delivery/delivery-metrics.ts'
import { type GaveUp, openNotices } from '../webhooks/delivery/notices.ts'
import { checkFailingEndpoints } from '../webhooks/endpoints/enable.ts'
import { fanOutEvents } from '../webhooks/events/fan-out.ts'
import { deleteOldRows } from '../webhooks/retention.ts'
import { readAuthorities } from './authorities.ts'
import type { ServiceOptions } from './context.ts'

export interface WebhookJobsOptions
  extends Pick<ServiceOptions, 'db' | 'log' | 'clock' | 'metrics'> {
  config: Pick<Config, 'webhooks'>
  /**
   * Decrypts signing secrets. If null, this process delivers nothing, and its job fails while there
   * are secrets; fan-out still runs.
   */
  ring: Keyring | null
  /** Wraps the egress client, for the demo. */
  around?: ((usual: Egress) => Egress) | undefined
}

export interface WebhookJobs {
  jobs: Job[]
  /** Call it after the jobs have ended. Waits at most 30 seconds for deliveries in progress. */
  close(): Promise<void>
}

export async function openWebhookJobs(options: WebhookJobsOptions): Promise<WebhookJobs> {
  const { db, log, clock, ring, metrics } = options
  const meter = deliveryMeter(metrics)
  const wakeUp = createWakeUp()
  const notices = openNotices({ log, metrics, record: recordGaveUp })
  const sender =
    ring === null ? null : await openSender({ ...options, ring }, { meter, wakeUp, notices })
  const jobs: Job[] = [
    fanOutJob(db, (event) => {
      meter.dispatched(event.type)
      wakeUp.notify()
    }),
    sender?.job ?? { name: 'deliver webhooks', everyMs: 10_000, run: () => refuseSecrets(db) },
    {
      name: 'free expired leases',
      everyMs: 5_000,
      run: async () => meter.leasesExpired(await releaseExpiredLeases(db, clock())),
    },
    {
      name: 'check failing endpoints',
      everyMs: 60_000,
      run: () => checkFailingEndpoints(db, notices, clock()),
    },
    {
      name: 'delete old deliveries',
      everyMs: 3_600_000,
      run: () => deleteOldRows(db, clock()),
    },
  ]
  return { jobs, close: async () => sender?.close() }
}

/** Throws if there are endpoints to deliver to, which this process cannot do without a keyring. */
async function refuseSecrets(db: Db): Promise<void> {
  const [sample] = await findSealedSamples(db)
  if (sample !== undefined)
    throw new Error(
      `This process has no SECRETS_KEYRING, so it sends no webhooks: their secrets were sealed with the key ${sample.kid}. Restore SECRETS_KEYRING, or the file webhook-secrets.keys in the data directory.`,
    )
}

/** Polls every 25 ms for two seconds after an event, otherwise every 100 ms. */
function fanOutJob(db: Db, onDispatched: (event: DispatchedEvent) => void): Job {
  let dispatchedAt = Number.NEGATIVE_INFINITY
  return {
    name: 'fan out events',
    get everyMs() {
      return performance.now() - dispatchedAt < 2_000 ? 25 : 100
    },
    async run() {
      if ((await fanOutEvents(db, onDispatched)) > 0) dispatchedAt = performance.now()
    },
  }
}

async function openSender(
  options: WebhookJobsOptions & { ring: Keyring },
  shared: Pick<DelivererOptions, 'meter' | 'notices'> & { wakeUp: WakeUp },
): Promise<{ job: Job; close(): Promise<void> }> {
  const { db, log, clock, ring, around = (usual) => usual } = options
  const { rules, proxyUrl, caFile, retryWaitsSeconds } = options.config.webhooks
  const extraCa =
    caFile === undefined ? undefined : await readAuthorities('WEBHOOK_CA_FILE', caFile)
  const egress = around(openEgress({ rules, proxyUrl, extraCa }))
  const slotsMax = receiversWithin(openFilesMax())
  const sending = { db, egress, clock, ring, log, retryWaitsSeconds, slotsMax }
  const deliverer = openDeliverer({ ...sending, ...shared })
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

/** Records that the service itself disabled endpoints, in one entry for each account. */
export async function recordGaveUp(tx: Tx, { endpointIds, reason, at }: GaveUp): Promise<void> {
  const accounts = Map.groupBy(await findOwners(tx, endpointIds), ([, account]) => account)
  for (const [account, owned] of accounts) {
    const entry = { subjects: owned.map(([id]) => id), account, details: { reason } }
    await recordAction(tx, { action: 'webhooks.given_up', ...entry, actor: theService }, at)
  }
}
