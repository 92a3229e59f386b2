/** The limits of the edge; tests scale them down. */
import { patient } from '../platform/patience.ts'
import type { OverloadLimits } from './overload.ts'

export interface ServerLimits extends OverloadLimits {
  /** Milliseconds: all headers, the whole request, the time between two requests, and how often that is looked at. */
  headersTimeoutMs: number
  requestTimeoutMs: number
  keepAliveTimeoutMs: number
  checkIntervalMs: number
  /** Milliseconds an endpoint may take to answer; one with a body has `requestTimeoutMs` on top. */
  answerTimeoutMs: number
  /** Milliseconds a caller may take to read its answer. */
  readTimeoutMs: number
  connectionsMax: number
  /** From one address (IPv6: one /64); trusted proxies are exempt. */
  connectionsPerAddressMax: number
  /** Milliseconds that what is under way may take once the doors are closed. */
  drainTimeoutMs: number
}

const defaultLimits: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 1_000,
  answerTimeoutMs: 10_000,
  readTimeoutMs: 30_000,
  // The operator's to say.
  connectionsMax: Number.POSITIVE_INFINITY,
  connectionsPerAddressMax: Number.POSITIVE_INFINITY,
  inFlightMax: 1_024,
  loopDelayMsMax: 200,
  drainTimeoutMs: 20_000,
}

/** The defaults where machine and database may be slow. */
export function patientLimits(): ServerLimits {
  const { answerTimeoutMs, loopDelayMsMax } = defaultLimits
  return {
    ...defaultLimits,
    answerTimeoutMs: patient(answerTimeoutMs),
    loopDelayMsMax: patient(loopDelayMsMax),
  }
}
