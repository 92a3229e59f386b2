/**
 * Delivers events. A pass finds endpoints with due deliveries, deals the free slots out among them,
 * leases deliveries and sends them. Results are acknowledged in batches: delivery, attempt and
 * endpoint health in one transaction. After a crash at any point the leases expire and the
 * deliveries are due again, so an event is delivered at least once, always under the same event id.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { batched } from '../../platform/batching.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { createWakeUp, type WakeUp } from '../../platform/job-runner.ts'
import type { Log } from '../../platform/observability/log.ts'
import { type AttemptEnd, acknowledgeBatch } from './acknowledge.ts'
import { claimDeliveries, findDueEndpoints, type WalkedEndpoint } from './leasing-store.ts'
import type { Notices } from './notices.ts'
import { returnUnused, withinRates } from './rate-store.ts'
import { type SigningSecrets, signingSecrets } from './secret.ts'
import { type Leased, type SenderOptions, sender } from './send.ts'
import { dealSlots, type Grant } from './slots.ts'

export interface DelivererOptions extends SenderOptions {
  log: Log
  /** Notified when a delivery may have become due. */
  wakeUp?: WakeUp
  /** Notices of endpoints that were disabled. */
  notices?: Notices
  /** Maximum of attempts in flight. */
  slotsMax?: number
}

export interface Deliverer {
  /** Leases due deliveries for the free slots and begins to send them. Returns how many. */
  pass(): Promise<number>
  /** Runs passes until nothing is due and nothing is in flight, or until the signal. */
  work(signal: AbortSignal): Promise<void>
  /** Returns the milliseconds to wait before the next pass, unless `wakeUp` is notified. */
  restMs(): number
  /** Resolves when every attempt in flight has been acknowledged, within 30 seconds. */
  finish(): Promise<void>
}

/** Longer than any exchange, with room for a difference between two machines' clocks. */
const leaseMs = 60_000
const endpointsWalked = 512
const restMsMin = 25
/**
 * Bounds the rest, because another process may have made a delivery due or may have freed an
 * endpoint.
 */
const restMsMax = 250
const beforeAll = '00000000-0000-0000-0000-000000000000'

export function openDeliverer(options: DelivererOptions): Deliverer {
  const { db, clock, slotsMax = 256, wakeUp = createWakeUp() } = options
  const attempts = openAttempts(options, wakeUp)
  const opener = secretOpener(options)
  let cursor = beforeAll
  /** Time of the next due delivery, or null if none is scheduled. */
  let nextAt: Date | null = clock()

  async function pass(): Promise<number> {
    const slots = slotsMax - attempts.count()
    if (slots === 0) return 0
    const due = await dueEndpoints()
    const failingSlots = Math.floor(slotsMax / 4) - attempts.failingCount()
    const dealt = dealSlots(due, { slots, failingSlots })
    // If the slots ran out, the next pass begins after the last endpoint that got one.
    if (countOf(dealt) === slots) cursor = dealt.at(-1)?.endpointId ?? beforeAll
    const now = clock()
    // Secrets are opened before anything is leased, so a secret that cannot be opened leaves no
    // lease behind.
    const secrets = opener.open(due, { dealt, now })
    const sendable = dealt.filter(({ endpointId }) => secrets.has(endpointId))
    const grants = await withinRates(db, sendable, { due, now })
    if (grants.length === 0) return 0
    const leasedAt = performance.now()
    const versions = newestVersions(due)
    const claimable = grants.map((grant) => ({
      ...grant,
      secretVersion: versions.get(grant.endpointId) ?? 0,
    }))
    const claimed = await claimDeliveries(db, claimable, {
      ids: Array.from({ length: countOf(grants) }, () => uuidV7(now)),
      now,
      until: new Date(now.getTime() + leaseMs),
    })
    const failing = new Set(due.filter((one) => one.isFailing).map((one) => one.endpointId))
    for (const delivery of claimed) {
      const signing = secrets.get(delivery.endpointId)
      if (signing === undefined) throw new Error('leased without a grant')
      attempts.begin({ delivery, secrets: signing, leasedAt }, failing.has(delivery.endpointId))
    }
    await returnUnused(db, grants, { due, claimed })
    return claimed.length
  }

  /** Returns a page of endpoints with due deliveries in round-robin order from the cursor. */
  async function dueEndpoints(): Promise<WalkedEndpoint[]> {
    const now = clock()
    const page = await findDueEndpoints(db, { after: cursor, limit: endpointsWalked, now })
    cursor = page.after ?? beforeAll
    const due = page.endpoints.filter(({ endpointId }) => !opener.isSkipped(endpointId, now))
    nextAt = due.length > 0 || page.after !== null ? now : page.nextAt
    return due
  }

  function restMs(): number {
    const untilDue = nextAt === null ? restMsMax : nextAt.getTime() - clock().getTime()
    return Math.min(Math.max(untilDue, restMsMin), restMsMax)
  }

  return {
    pass,
    async work(signal) {
      while (!signal.aborted) {
        const begun = await pass()
        if (begun > 0 && attempts.count() < slotsMax) continue
        if (attempts.count() === 0) return
        await wakeUp.wait(restMs(), signal)
      }
    },
    restMs,
    finish: () => attempts.finish(),
  }
}

/** Sends leased deliveries, acknowledges the results and counts the attempts in flight. */
function openAttempts(options: DelivererOptions, wakeUp: WakeUp) {
  const { clock, meter, log } = options
  const acknowledge = untilAcknowledged(
    batched<AttemptEnd, void>({
      name: 'acknowledge deliveries',
      run: async (ends) => {
        meter.endedLate(await acknowledgeBatch(options, ends, clock()))
        return ends.map(() => undefined)
      },
      deadline: 'deliveryRecord',
    }),
  )
  const send = sender(options)
  const inFlight = new Set<Promise<void>>()
  let failingCount = 0
  meter.watch(() => inFlight.size)
  return {
    count: () => inFlight.size,
    failingCount: () => failingCount,

    begin(leased: Leased, isFailing: boolean): void {
      if (isFailing) failingCount++
      const sending = send(leased)
        .then(acknowledge)
        .catch((error: unknown) =>
          log.error('an attempt is not acknowledged; it will be made again', error, {
            endpointId: leased.delivery.endpointId,
          }),
        )
        .finally(() => {
          inFlight.delete(sending)
          if (isFailing) failingCount--
          // An attempt that ends frees a slot and room at its endpoint.
          wakeUp.notify()
        })
      inFlight.add(sending)
    },

    async finish() {
      await Promise.all(inFlight)
    },
  }
}

/**
 * Opens the signing secrets of endpoints. Skips endpoints whose secret this machine cannot open.
 */
function secretOpener({ ring, log }: Pick<DelivererOptions, 'ring' | 'log'>) {
  /** The time until which each of these endpoints is skipped. */
  const skippedUntil = new Map<string, number>()
  return {
    isSkipped: (endpointId: string, now: Date): boolean =>
      (skippedUntil.get(endpointId) ?? 0) > now.getTime(),

    open(
      due: readonly WalkedEndpoint[],
      { dealt, now }: { dealt: readonly Grant[]; now: Date },
    ): Map<string, SigningSecrets> {
      const sealed = new Map(due.map(({ endpointId, secrets }) => [endpointId, secrets]))
      const opened = new Map<string, SigningSecrets>()
      for (const { endpointId: id } of dealt)
        try {
          const secrets = signingSecrets(sealed.get(id) ?? [], ring, now)
          if (secrets === null) throw new Error('the endpoint has no secret that signs')
          opened.set(id, secrets)
        } catch (error) {
          log.error('a webhook secret cannot be opened; its deliveries wait', error, { id })
          skippedUntil.set(id, now.getTime() + leaseMs)
        }
      return opened
    },
  }
}

function newestVersions(endpoints: readonly WalkedEndpoint[]): Map<string, number> {
  return new Map(
    endpoints.map(({ endpointId, secrets }) => [endpointId, secrets.at(-1)?.version ?? 0]),
  )
}

function countOf(grants: readonly Grant[]): number {
  return grants.reduce((sum, grant) => sum + grant.count, 0)
}

const acknowledgePauseMs = 250
const acknowledgeTriesMax = 100

/**
 * Retries an acknowledgement while the database is away, so that nothing is sent twice because of
 * it.
 */
function untilAcknowledged<Item>(acknowledge: (item: Item) => Promise<void>) {
  return async (item: Item): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        return await acknowledge(item)
      } catch (error) {
        if (!(error instanceof UnavailableError) || tries === acknowledgeTriesMax) throw error
        await pause(acknowledgePauseMs)
      }
    }
  }
}
