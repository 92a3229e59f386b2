/**
 * Tracks connections: their number, their clients, and how long a client takes to read a response.
 * One interval checks all of them, so a request costs no timer.
 */
import { hash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isWithin, parseAddress } from '../platform/networks.ts'
import { clientNetwork, type TrustedProxies } from './client-network.ts'
import type { ClientNetwork } from './rate-limit/limiter.ts'
import type { Client, Connection, RequestContext } from './request-context.ts'

export interface Connections {
  /** Registers an accepted connection. Closes it at once if its address has too many. */
  opened: (socket: Socket) => void
  of: (socket: Socket) => Connection
  /** Returns the client of a request: the peer, or the client that a trusted proxy forwards for. */
  clientOf: (request: IncomingMessage) => Client
  /**
   * Starts a read deadline for a connection that did not take its whole response. The connection is
   * closed at the deadline.
   */
  watch: (context: RequestContext) => void
  count: () => number
  refused: () => number
  stop: () => void
}

export interface ConnectionLimits {
  /** Connections that one address may hold open (IPv6: one /64). Trusted proxies are exempt. */
  connectionsPerAddressMax: number
  /** Milliseconds that a client may take to read a response. */
  readTimeoutMs: number
  checkIntervalMs: number
}

/** Responses that a connection has not taken yet. */
interface Unread {
  /** Their end, in bytes written since the connection began, queued bytes included. */
  upTo: number
  /** Milliseconds of the monotonic clock. */
  deadline: number
}

export function trackConnections(trusted: TrustedProxies, limits: ConnectionLimits): Connections {
  const states = new WeakMap<Socket, Connection>()
  const perAddress = new Map<string, number>()
  const slowReaders = trackSlowReaders(limits)
  let open = 0
  let refused = 0

  function opened(socket: Socket): void {
    const connection = stateOf(socket)
    const key = bucketKey(connection.peer.network)
    const sameAddress = (perAddress.get(key) ?? 0) + 1
    if (sameAddress > limits.connectionsPerAddressMax && !connection.isTrustedProxy) {
      refused++
      socket.destroy()
      return
    }
    open++
    // Each waiting request adds a listener for the end of its connection.
    socket.setMaxListeners(0)
    perAddress.set(key, sameAddress)
    socket.once('close', () => {
      open--
      slowReaders.forget(socket)
      const left = (perAddress.get(key) ?? 1) - 1
      if (left === 0) perAddress.delete(key)
      else perAddress.set(key, left)
    })
  }

  function stateOf(socket: Socket): Connection {
    const known = states.get(socket)
    if (known !== undefined) return known
    const address = parseAddress(socket.remoteAddress ?? '')
    const peer = clientFrom(socket, undefined)
    const connection: Connection = {
      socket,
      peer,
      isTrustedProxy: address !== null && isWithin(address, trusted),
      current: null,
      queue: [],
      closing: false,
    }
    states.set(socket, connection)
    return connection
  }

  function clientFrom(socket: Socket, forwardedFor: string | undefined): Client {
    const network = clientNetwork(socket.remoteAddress, forwardedFor, trusted)
    const digest = digestOf(bucketKey(network))
    return { network, digest, lane: laneOf(network, digest) }
  }

  function clientOf({ socket, headers }: IncomingMessage): Client {
    const { peer, isTrustedProxy } = stateOf(socket)
    const forwardedFor = headers['x-forwarded-for']
    if (!isTrustedProxy || forwardedFor === undefined) return peer
    const hops = Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor
    return clientFrom(socket, hops)
  }

  return {
    opened,
    of: stateOf,
    clientOf,
    watch: ({ connection: { socket } }) => slowReaders.watch(socket),
    count: () => open,
    refused: () => refused,
    stop: slowReaders.stop,
  }
}

interface SlowReaders {
  watch(socket: Socket): void
  forget(socket: Socket): void
  stop: () => void
}

function trackSlowReaders({ checkIntervalMs, readTimeoutMs }: ConnectionLimits): SlowReaders {
  const slowReaders = new Map<Socket, Unread>()
  const timer = setInterval(closeSlowReaders, checkIntervalMs)
  timer.unref()

  function closeSlowReaders(): void {
    const now = performance.now()
    for (const [socket, { upTo, deadline }] of slowReaders) {
      if (socket.writableLength === 0) slowReaders.delete(socket)
      else if (socket.bytesWritten - socket.writableLength >= upTo) expectRead(socket)
      else if (deadline <= now) socket.destroy()
    }
  }

  /**
   * Sets a deadline for the bytes that are queued now. Bytes queued later get their own deadline
   * once these have been taken.
   */
  function expectRead(socket: Socket): void {
    const deadline = performance.now() + readTimeoutMs
    slowReaders.set(socket, { upTo: socket.bytesWritten, deadline })
  }

  return {
    watch(socket) {
      if (!slowReaders.has(socket)) expectRead(socket)
    },
    forget: (socket) => void slowReaders.delete(socket),
    stop: () => clearInterval(timer),
  }
}

function bucketKey(network: ClientNetwork): string {
  return network.buckets[0]?.key ?? ''
}

/**
 * Made anew by each process: the log lines of one run can be grouped by caller, and those of two
 * runs cannot.
 */
const digestKey = randomBytes(16).toString('hex')

function digestOf(key: string): string {
  return hash('sha256', digestKey + key, 'base64url').slice(0, 12)
}

/**
 * Chooses the lane by the widest bucket: an IPv6 /48 with 65,536 buckets must not get that many
 * turns.
 */
function laneOf({ buckets }: ClientNetwork, digest: string): string {
  const widest = buckets.at(-1)?.key ?? ''
  return (buckets.length === 1 ? digest : digestOf(widest)).slice(0, 2)
}
