/**
 * Connections: how many, from whom, and how long they may take to read an answer. One interval looks at all of them, so that
 * a request costs no timer.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { isWithin, parseAddress } from '../platform/http/networks.ts'
import type { ClientNetwork } from '../platform/rate-limit/limiter.ts'
import { clientNetwork, type TrustedProxies } from './client-network.ts'
import type { Client, Connection, Exchange, Trace } from './exchange.ts'

export interface Connections {
  /** A connection that has just been accepted; closes it at once where its address holds too many. */
  opened: (socket: Socket) => void
  of: (socket: Socket) => Connection
  /** The caller of an exchange: the peer, or whom a trusted proxy forwards for. */
  network: (exchange: Exchange) => ClientNetwork
  clientDigest: (trace: Trace | Exchange) => string
  lane: (exchange: Exchange) => string
  /** The connection has not taken its whole answer yet: it is closed unless it does within the limit. */
  watch: (exchange: Exchange) => void
  count: () => number
  refused: () => number
  stop: () => void
}

export interface ConnectionLimits {
  /** Open at once from one address (IPv6: one /64); trusted proxies are exempt. */
  perAddressMax: number
  /** How long a caller may take to read an answer, in milliseconds. */
  readTimeoutMs: number
  checkIntervalMs: number
}

/** Answers that a connection has not taken yet. */
interface Unread {
  /** Where they end: bytes since the connection began, those that still wait among them. */
  upTo: number
  /** Milliseconds of the monotonic clock. */
  deadline: number
}

export function trackConnections(trusted: TrustedProxies, limits: ConnectionLimits): Connections {
  const states = new WeakMap<Socket, Connection>()
  const perAddress = new Map<string, number>()
  const slowReaders = new Map<Socket, Unread>()
  let open = 0
  let refused = 0
  const timer = setInterval(closeSlowReaders, limits.checkIntervalMs)
  timer.unref()

  function opened(socket: Socket): void {
    const connection = stateOf(socket)
    const key = bucketKey(connection.peer.network)
    const sameAddress = (perAddress.get(key) ?? 0) + 1
    if (sameAddress > limits.perAddressMax && !connection.proxy) {
      refused++
      socket.destroy()
      return
    }
    open++
    // Each request that waits listens for the end of its connection.
    socket.setMaxListeners(0)
    perAddress.set(key, sameAddress)
    socket.once('close', () => {
      open--
      slowReaders.delete(socket)
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
      proxy: address !== null && isWithin(address, trusted),
      client: peer,
      latest: null,
      unanswered: 0,
      closing: false,
    }
    states.set(socket, connection)
    return connection
  }

  function clientFrom(socket: Socket, forwardedFor: string | undefined): Client {
    const network = clientNetwork(socket.remoteAddress, forwardedFor, trusted)
    const digest = digestOf(bucketKey(network))
    return { forwardedFor, network, digest, lane: laneOf(network, digest) }
  }

  function clientOf({ connection, request }: Exchange): Client {
    if (!connection.proxy) return connection.peer
    const forwardedFor = forwardedForOf(request)
    if (connection.client.forwardedFor !== forwardedFor)
      connection.client = clientFrom(connection.socket, forwardedFor)
    return connection.client
  }

  function closeSlowReaders(): void {
    const now = performance.now()
    for (const [socket, { upTo, deadline }] of slowReaders) {
      if (socket.writableLength === 0) slowReaders.delete(socket)
      else if (socket.bytesWritten - socket.writableLength >= upTo) expectRead(socket)
      else if (deadline <= now) socket.destroy()
    }
  }

  /** What waits now; what is written behind it gets time of its own when that has been taken. */
  function expectRead(socket: Socket): void {
    const deadline = performance.now() + limits.readTimeoutMs
    slowReaders.set(socket, { upTo: socket.bytesWritten, deadline })
  }

  return {
    opened,
    of: stateOf,
    network: (exchange) => clientOf(exchange).network,
    clientDigest: (trace) =>
      'request' in trace ? clientOf(trace).digest : trace.connection.peer.digest,
    lane: (exchange) => clientOf(exchange).lane,
    watch({ connection: { socket } }) {
      if (!slowReaders.has(socket)) expectRead(socket)
    },
    count: () => open,
    refused: () => refused,
    stop: () => clearInterval(timer),
  }
}

function forwardedForOf({ headers }: Exchange['request']): string | undefined {
  const forwardedFor = headers['x-forwarded-for']
  return Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor
}

function bucketKey(network: ClientNetwork): string {
  return network.buckets[0]?.key ?? ''
}

/** Made anew by each process: lines of one run can be told to be of one caller, and nothing more. */
const digestKey = randomBytes(16).toString('hex')

function digestOf(key: string): string {
  return hash('sha256', digestKey + key, 'base64url').slice(0, 12)
}

/** By the widest bucket: a network of IPv6 that has 65,536 buckets of its own must not have as many turns. */
function laneOf({ buckets }: ClientNetwork, digest: string): string {
  const widest = buckets.at(-1)?.key ?? ''
  return (buckets.length === 1 ? digest : digestOf(widest)).slice(0, 2)
}
