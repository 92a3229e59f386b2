/** Composes x402 payments: opening, readiness and jobs. */
import type { X402 } from '../billing/x402/settlement/open.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'

export interface PaymentOptions {
  db: Db
  log: Log
  closing: AsyncDisposableStack
  metrics: Metrics
}

/**
 * Returns a warning if metering is on without a payee: a caller without a key gets 402 without a
 * challenge (decision D21).
 */
export function missingPayee({ metering, x402 }: Pick<Config, 'metering' | 'x402'>): string | null {
  if (!metering || x402 !== null) return null
  return 'callers without a key get 402 payment_required without a challenge, because a challenge must name a payee. Set X402_PAY_TO, or METERING=off'
}

/** Returns null without x402 settings. A server without payments never loads the payment code. */
export async function openPayments(
  { x402: settings, publicUrl }: Config,
  { db, log, closing, metrics }: PaymentOptions,
): Promise<X402 | null> {
  if (settings === null) return null
  const { openX402 } = await import('../billing/x402/settlement/open.ts')
  const onTrouble = (message: string, fields: Record<string, string>) => log.warn(message, fields)
  const x402 = await openX402({
    settings,
    publicUrl,
    db,
    clock: systemClock,
    metrics,
    onTrouble,
  })
  closing.defer(() => x402.close())
  return x402
}

/** Returns the readiness of payments: at worst degraded, because callers with a key need none. */
export function paymentsState(x402: X402): string | { degraded: string } {
  const fitness = x402.fitness()
  return fitness === 'ok' ? fitness : { degraded: fitness }
}

/** Returns the jobs of every process that takes payments. */
export function servingPaymentJobs(x402: X402 | null | undefined): Job[] {
  if (x402 == null) return []
  return [{ name: 'examine payments', everyMs: 30_000, run: () => x402.examine() }]
}

/** Returns the payment jobs of the jobs process. */
export function backgroundPaymentJobs(x402: X402 | null | undefined): Job[] {
  if (x402 == null) return []
  return [
    { name: 'reconcile payments', everyMs: 10_000, run: () => x402.reconcile() },
    { name: 'sweep payments', everyMs: 3_600_000, run: () => x402.sweep() },
  ]
}
