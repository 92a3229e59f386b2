/** Payments on the spot in a process: how they are opened, what readiness says of them, and what is done beside answering. */
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { X402 } from '../x402/settlement/open.ts'

export interface PayingParts {
  db: Db
  log: Log
  closing: AsyncDisposableStack
  metrics: Metrics
}

/** Why metering is on and a caller without a key still gets no challenge; null if the server challenges, or need not (decision D21). */
export function missingPayee({ metering, x402 }: Pick<Config, 'metering' | 'x402'>): string | null {
  if (!metering || x402 !== null) return null
  return 'callers without a key get 401: a payment challenge must name a payee. Set X402_PAY_TO, or METERING=off'
}

/** Returns null if no caller is challenged. Imports the payment code on demand: a server without payments never needs it. */
export async function openPayments(
  { x402: settings, publicUrl }: Config,
  { db, log, closing, metrics }: PayingParts,
): Promise<X402 | null> {
  if (settings === null) return null
  const { openX402 } = await import('../x402/settlement/open.ts')
  const onTrouble = (what: string, fields: Record<string, string>) => log.warn(what, fields)
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

/** Whoever has a key is served all the same. */
export function paymentsState(x402: X402): string | { degraded: string } {
  const fitness = x402.fitness()
  return fitness === 'ok' ? fitness : { degraded: fitness }
}

/** Jobs of every process that takes payments. */
export function servingPaymentJobs(x402: X402 | null | undefined): Job[] {
  if (x402 == null) return []
  return [{ name: 'examine payments', everyMs: 30_000, run: () => x402.examine() }]
}

/** Jobs of the jobs process. */
export function backgroundPaymentJobs(x402: X402 | null | undefined): Job[] {
  if (x402 == null) return []
  return [
    { name: 'reconcile payments', everyMs: 10_000, run: () => x402.reconcile() },
    { name: 'sweep payments', everyMs: 3_600_000, run: () => x402.sweep() },
    { name: 'survey payments', everyMs: 15_000, run: () => x402.survey() },
  ]
}
