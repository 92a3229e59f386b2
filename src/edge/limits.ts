/** The limits of the HTTP edge. Tests scale them down. */
import { deadlineMs } from '../platform/deadlines.ts'
import type { GateLimits } from './gate.ts'
import type { BodyLimits } from './open-bodies.ts'

export interface ServerLimits extends BodyLimits {
  /** The limits of each priority's gate. */
  gate: GateLimits
  /**
   * Requests of one connection whose responses have not been written. One more closes the
   * connection.
   */
  unansweredMax: number
  /**
   * Milliseconds for all headers, for the whole request, between two requests, and between two
   * checks.
   */
  headersTimeoutMs: number
  requestTimeoutMs: number
  keepAliveTimeoutMs: number
  checkIntervalMs: number
  /**
   * Milliseconds that an endpoint may take to respond. With a body, `requestTimeoutMs` is added.
   */
  answerTimeoutMs: number
  /** Milliseconds that a caller may take to read its response. */
  readTimeoutMs: number
  connectionsMax: number
  /** Connections from one address (IPv6: one /64). Trusted proxies are exempt. */
  connectionsPerAddressMax: number
  /**
   * Milliseconds that requests in progress may take after the server stops accepting connections.
   */
  drainTimeoutMs: number
}

/** Returns the limits of a server. Call it after the timeout multiplier is set. */
export function usualLimits(): ServerLimits {
  const requestTimeoutMs = deadlineMs('request')
  // The body of a waiting request must still arrive within the request timeout.
  const waitMs = Math.min(deadlineMs('slot'), requestTimeoutMs / 2)
  return {
    headersTimeoutMs: deadlineMs('requestHeaders'),
    requestTimeoutMs,
    keepAliveTimeoutMs: 65_000,
    checkIntervalMs: 1_000,
    answerTimeoutMs: deadlineMs('answer'),
    readTimeoutMs: deadlineMs('responseRead'),
    // The operator's settings decide.
    connectionsMax: Number.POSITIVE_INFINITY,
    connectionsPerAddressMax: Number.POSITIVE_INFINITY,
    // 64 slots are twice the calls that one processor answers while a call waits for the database.
    gate: { slots: 64, turnMs: 5, turnAloneMs: 200, waitMs },
    unansweredMax: 8,
    openBodiesMax: 1_024,
    openBodiesPerNetworkMax: 64,
    bodyBytesMax: 67_108_864,
    bodyBytesPerNetworkMax: 16_777_216,
    bodyGraceMs: 3_000,
    bodyRateMin: 1_024,
    drainTimeoutMs: deadlineMs('drain'),
  }
}
