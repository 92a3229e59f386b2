/**
 * Answers the operator's probes: whether the process lives, and whether it should receive traffic.
 * They are not part of the contract.
 */
import { withDeadline } from '../platform/deadlines.ts'
import type { ProbeAnswer } from '../platform/observability/metrics.ts'

/**
 * The state of each dependency by name: `ok`, or a short reason why the process is not ready.
 * `degraded` gives the reason why only some callers cannot be served; the process stays ready.
 */
export type Readiness = Record<string, string | { degraded: string }>

export function liveness(): ProbeAnswer {
  return { status: 200, body: { status: 'ok' } }
}

export async function readiness(
  checks: () => Promise<Readiness>,
  draining: () => boolean,
): Promise<ProbeAnswer> {
  const found = await probe(checks, draining)
  return {
    status: found.isReady ? 200 : 503,
    body: { status: found.isReady ? 'ready' : 'not_ready', checks: found.checks },
    ...(found.isReady ? {} : { headers: { 'Retry-After': '1' } }),
  }
}

export interface Probe {
  isReady: boolean
  /** The checks by name: `ok`, `degraded: REASON`, or the reason why the process is not ready. */
  checks: Record<string, string>
}

export async function probe(
  checks: () => Promise<Readiness>,
  draining: () => boolean = () => false,
): Promise<Probe> {
  const found = await withinTimeout(checks)
  const all: Readiness = draining() ? { ...found, server: 'draining' } : found
  const isReady = Object.values(all).every((state) => state === 'ok' || typeof state === 'object')
  return { isReady, checks: renderChecks(all) }
}

function renderChecks(checks: Readiness): Record<string, string> {
  const entries = Object.entries(checks).map(([name, state]) => [
    name,
    typeof state === 'string' ? state : `degraded: ${state.degraded}`,
  ])
  return Object.fromEntries(entries)
}

/** Treats a check that hangs like one that fails. The error itself is not published. */
async function withinTimeout(checks: () => Promise<Readiness>): Promise<Readiness> {
  try {
    return await withDeadline(checks(), 'readiness', () => ({ checks: 'no answer in time' }))
  } catch {
    return { checks: 'failed' }
  }
}
