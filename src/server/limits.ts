/** The limits of the edge; tests scale them down. */
import { patient } from '../platform/patience.ts'
import type { GateLimits } from './gate.ts'
import type { BodyLimits } from './open-bodies.ts'

export interface ServerLimits extends BodyLimits {
  /** Of the gate of each priority. */
  gate: GateLimits
  /** Requests of one connection whose answers have not had their turn; one more ends the connection. */
  unansweredMax: number
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
  // Twice what a processor answers in the milliseconds for which a call waits for the database.
  gate: { slots: 64, turnMs: 5, turnAloneMs: 200, waitMs: 1_200 },
  unansweredMax: 8,
  openBodiesMax: 1_024,
  openBodiesPerNetworkMax: 64,
  bodyBytesMax: 67_108_864,
  bodyBytesPerNetworkMax: 16_777_216,
  bodyGraceMs: 3_000,
  bodyRateMin: 1_024,
  drainTimeoutMs: 20_000,
}

/** The defaults where machine and database may be slow. */
export function patientLimits(): ServerLimits {
  const { answerTimeoutMs, requestTimeoutMs, gate } = defaultLimits
  // A request whose body is unread while it waits must be read in time.
  const waitMs = Math.min(patient(gate.waitMs), requestTimeoutMs / 2)
  return {
    ...defaultLimits,
    answerTimeoutMs: patient(answerTimeoutMs),
    gate: { ...gate, waitMs },
  }
}
