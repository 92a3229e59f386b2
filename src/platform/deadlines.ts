/**
 * Every deadline of the service in milliseconds: how long it waits before it gives up. Leases,
 * intervals of jobs and the times of the contract are no deadlines and stand in their modules.
 */
import { UnavailableError } from './errors.ts'

/** Waits for this machine and its database. `TIMEOUT_MULTIPLIER` multiplies them. */
const own = {
  /** A database call that a caller waits for. Two of them fit into the second of decision D13. */
  databaseAnswer: 450,
  /** A replica. Shorter than `databaseAnswer`, so that the primary can still answer. */
  replicaAnswer: 300,
  /** A call that waits for its batch and for the batch's answer. */
  batch: 800,
  /** A free connection of the pool. */
  connection: 500,
  /** A statement. PostgreSQL cancels it after this time. */
  statement: 2_000,
  /** A statement of a command: an operator waits longer than a caller. */
  commandStatement: 60_000,
  /** Connections and statements that examine whether a pooler shares sessions. */
  poolingCheck: 5_000,
  /** The connection of `assay migrate`, for which other migrations may have to end. */
  migrationConnection: 10_000,
  /** A request that waits for a slot. */
  slot: 1_200,
  /** The response of an endpoint. Reading a body adds `request`. */
  answer: 10_000,
  /** The batches of one call begin within this time, so that the last ends before `answer`. */
  batches: 5_000,
  /** The record of a delivery. A delivery without a record is sent again. */
  deliveryRecord: 10_000,
  /** The embedded PostgreSQL creates a cluster, or replays its log after a crash. */
  embeddedStart: 180_000,
  /** A checkpoint of the embedded PostgreSQL. Crash recovery does the rest. */
  embeddedStop: 30_000,
  /** Another process prepares the demo. */
  demo: 60_000,
}

/** Waits for others: clients, probes, receivers and facilitators. They are not multiplied. */
const others = {
  /** All headers of a request. */
  requestHeaders: 10_000,
  /** A whole request. */
  request: 15_000,
  /** A batch of lines of a streamed body is complete. */
  ingestBatch: 600_000,
  /** A caller reads its response. */
  responseRead: 30_000,
  /** A caller that still sends its body reads the response, before the connection closes. */
  linger: 1_000,
  /** Requests in progress end after the server stops accepting connections. */
  drain: 20_000,
  /** The checks of a readiness probe. */
  readiness: 1_000,
  /** The metrics of a child process. */
  childMetrics: 1_000,
  /** DNS of another server. */
  egressName: 2_000,
  /** TCP and TLS to another server. */
  egressConnect: 5_000,
  /** An exchange with another server, up to the last byte of its answer. */
  egressExchange: 15_000,
  /** The body of a receiver's answer, after its status. */
  deliveryAnswerBody: 1_000,
  /** A connection that stands too late for its lease is tried again within this time. */
  deliveryBegin: 14_000,
  /** TCP and TLS to the mail server. */
  mailConnect: 5_000,
  /** The time between two answers of the mail server. */
  mailSilence: 10_000,
  /** A whole mail. */
  mailExchange: 30_000,
  /** An exchange with the OpenID Connect provider. */
  providerExchange: 4_000,
  /** All exchanges of one sign-in with the provider. Shorter than `answer`. */
  providerSignIn: 8_000,
  /** A facilitator verifies a payment. The lease of a payment covers this and `settle`. */
  verifyPayment: 10_000,
  /** A facilitator settles a payment. */
  settlePayment: 15_000,
  /** A facilitator lists the payments that it accepts. */
  facilitatorKinds: 5_000,
  /** A call to a node of the chain. */
  chainCall: 5_000,
  /** The chain shows a settlement. The lease of a payment covers this as well. */
  chainShows: 4_000,
  /** A node of another provider is a block or two behind. */
  chainBehind: 3_000,
  /** The relayer's transaction is mined. */
  chainReceipt: 10_000,
  /** The relayer sends one transaction at a time. */
  relayerTurn: 10_000,
  /** Another request settles the same payment. */
  samePayment: 5_000,
}

export type DeadlineName = keyof typeof own | keyof typeof others

let multiplier = 1

/** Called once, before anything is opened. Tests use fractions. */
export function setTimeoutMultiplier(factor: number): void {
  multiplier = factor
}

export function deadlineMs(name: DeadlineName): number {
  return name in own
    ? own[name as keyof typeof own] * multiplier
    : others[name as keyof typeof others]
}

/**
 * Returns the result of `work`, or that of `late` if the deadline passes first. Without `late` the
 * call then rejects with `UnavailableError`. The work goes on and may still take effect.
 */
export async function withDeadline<Result, Late = never>(
  work: Promise<Result>,
  name: DeadlineName,
  late: () => Late | Promise<Late> = () => refused(name),
): Promise<Result | Late> {
  const passed = Promise.withResolvers<Late>()
  const timer = setTimeout(() => passed.resolve(late()), deadlineMs(name))
  try {
    return await Promise.race([work, passed.promise])
  } finally {
    clearTimeout(timer)
  }
}

function refused(name: DeadlineName): Promise<never> {
  return Promise.reject(new UnavailableError(`${name}: no answer within ${deadlineMs(name)} ms`))
}
