/** Metrics of x402 payments. */
import type { Metrics } from '../../../platform/observability/metrics.ts'
import type { Facilitator } from './facilitator.ts'
import type { OpenCounts } from './store.ts'

/** Result of one request for a paid read without a key. */
export type AttemptResult =
  | 'challenged'
  | 'malformed'
  | 'limited'
  | 'paid'
  | 'unsold'
  | 'refused'
  | 'key reused'
  | 'facilitator unavailable'
  | 'pending'

export interface PaymentMeter {
  attempted(endpoint: string, result: AttemptResult): void
  verified(seconds: number): void
  settled(seconds: number): void
  /** `relayerWei` is null if there is no relayer or its balance is unknown. */
  surveyed(counts: OpenCounts, relayerWei: bigint | null): void
}

const waitBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export function paymentMeter(metrics: Metrics): PaymentMeter {
  const attempts = metrics.counter({
    name: 'x402_attempts_total',
    help: 'Requests for paid reads without a key, by how they ended.',
    labels: ['endpoint', 'outcome'],
  })
  const [verified, settled] = (['verify', 'settle'] as const).map((step) =>
    metrics.histogram({
      name: `x402_${step}_seconds`,
      help: `Time of the facilitator to ${step} a payment.`,
      buckets: waitBuckets,
    }),
  ) as [(seconds: number) => void, (seconds: number) => void]
  let survey: { counts: OpenCounts; relayerWei: bigint | null } | undefined
  return {
    attempted: (endpoint, result) => attempts(endpoint, result.replaceAll(' ', '_')),
    verified,
    settled,
    surveyed(counts, relayerWei) {
      // Shown only by the process that surveys, because values of several processes are added up.
      if (survey === undefined) showSurvey(metrics, () => survey)
      survey = { counts, relayerWei }
    },
  }
}

type Survey = { counts: OpenCounts; relayerWei: bigint | null } | undefined

function showSurvey(metrics: Metrics, survey: () => Survey): void {
  metrics.gauges(
    { name: 'x402_open_payments', help: 'Payments that may have been made.', labels: ['state'] },
    () => ({ ...survey()?.counts }),
  )
  metrics.gauge('x402_relayer_ether', 'What the relayer has left for gas.', () => {
    const wei = survey()?.relayerWei ?? null
    return wei === null ? Number.NaN : Number(wei) / 1e18
  })
}

/** Returns the facilitator with its duration measured. */
export function timed(facilitator: Facilitator, meter: PaymentMeter): Facilitator {
  return {
    name: facilitator.name,
    verify: (payment, price) => took(meter.verified, () => facilitator.verify(payment, price)),
    settle: (payment, price) => took(meter.settled, () => facilitator.settle(payment, price)),
  }
}

async function took<Result>(
  observe: (seconds: number) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const began = performance.now()
  try {
    return await work()
  } finally {
    observe((performance.now() - began) / 1_000)
  }
}
