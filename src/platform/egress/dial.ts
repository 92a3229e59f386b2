/**
 * Opens connections. The name is resolved once, every address is vetted, and exactly a vetted
 * address is dialled. A name that resolves differently a moment later (DNS rebinding) or an address
 * written as the host changes nothing. Certificate, SNI and Host stay those of the name.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, getCACertificates } from 'node:tls'
import { callbackify } from 'node:util'
import type { buildConnector } from 'undici'
import { parseAddress } from '../networks.ts'
import { hasFileLeft } from '../open-files.ts'
import { RecentMap } from '../recent-map.ts'
import { connectFailure, EgressError } from './failures.ts'
import type { Resolve } from './names.ts'
import { type EgressRules, mayDial } from './rules.ts'

export interface DialOptions {
  rules: EgressRules
  resolve: Resolve
  /** Limit for TCP and TLS together, over all addresses tried. */
  connectMs: number
  /** PEM certificates to trust in addition to those of this machine. */
  extraCa?: string | undefined
}

/** Addresses of one name to try. */
const addressesTriedMax = 4

/** Returns the function that undici calls to open a connection. */
export function dialer(options: DialOptions): buildConnector.connector {
  const open = opener(options.extraCa)
  const dialled = callbackify((target: Target) => dial(target, options, open))
  return (target, callback) =>
    dialled(target, (error, socket) => {
      if (error === null) callback(null, socket)
      else callback(error, null)
    })
}

type Target = buildConnector.Options
type Open = (target: Target, address: string) => { socket: Socket; ready: string }

async function dial(target: Target, options: DialOptions, open: Open): Promise<Socket> {
  const addresses = await vettedAddresses(bare(target.hostname), options)
  const until = performance.now() + options.connectMs
  let failed: unknown
  for (const [i, address] of addresses.entries()) {
    const leftMs = until - performance.now()
    const isLast = i === addresses.length - 1
    try {
      // Half of the remaining time, so an address that never responds leaves time for the next.
      const socket = await opened(open(target, address), isLast ? leftMs : leftMs / 2)
      refuseUnvetted(socket, options.rules)
      return socket
    } catch (error) {
      failed = asConnectError(error, target.protocol)
      if (!mayTryNext(failed)) throw failed
    }
  }
  throw failed
}

/**
 * Refuses the name if any of its addresses is blocked: mixing public and private addresses is a
 * sign of an attack.
 */
async function vettedAddresses(
  host: string,
  { rules, resolve }: DialOptions,
): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await resolved(host, resolve) : [host]
  const isVetted = addresses.every((text) => {
    const address = parseAddress(text)
    return address !== null && mayDial(address, rules)
  })
  if (!isVetted) throw new EgressError('blocked_address', 'the host leads to a blocked address')
  return addresses.slice(0, addressesTriedMax)
}

async function resolved(host: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(host)
  } catch (error) {
    // The resolver reports a lack of descriptors as a name server that refuses.
    if (!hasFileLeft()) throw new EgressError('no_descriptors', 'no open file is left', error)
    throw new EgressError('dns_error', 'the host has no address', error)
  }
}

/** Vets the remote address that the open connection reports, as a last check. */
function refuseUnvetted(socket: Socket, rules: EgressRules): void {
  const address = parseAddress(socket.remoteAddress ?? '')
  if (address !== null && mayDial(address, rules)) return
  socket.destroy()
  throw new EgressError('blocked_address', 'the connection leads to a blocked address')
}

function asConnectError(error: unknown, protocol: string): EgressError {
  if (error instanceof EgressError) return error
  return new EgressError(connectFailure(error, protocol), 'no connection', error)
}

function mayTryNext(error: unknown): boolean {
  return (
    error instanceof EgressError &&
    (error.failure === 'connect_refused' || error.failure === 'connect_timeout')
  )
}

function opened(
  { socket, ready }: { socket: Socket; ready: string },
  deadlineMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new EgressError('connect_timeout', 'no connection in time')),
      Math.max(0, deadlineMs),
    )
    const fail = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    socket.once('error', fail).once(ready, () => {
      clearTimeout(timer)
      // From now on undici listens for errors.
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

const sessionsMax = 1_000

/**
 * Returns a function that starts a connection. It resumes TLS sessions, which saves most of a
 * handshake.
 */
function opener(extraCa: string | undefined): Open {
  const sessions = new RecentMap<Buffer>(sessionsMax)
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...trusting(extraCa),
  })
  return ({ protocol, hostname, port }, address) => {
    const host = bare(hostname)
    if (protocol !== 'https:')
      return {
        socket: prepared(connectTcp({ host: address, port: Number(port || 80) })),
        ready: 'connect',
      }
    const session = sessions.get(`${host}:${port}`)
    const socket = connectTls({
      host: address,
      port: Number(port || 443),
      // TLS has no SNI for an address. The certificate must still name the address.
      servername: isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
      secureContext,
      ...(session === undefined ? {} : { session }),
    })
    socket.on('session', (ticket) => sessions.set(`${host}:${port}`, ticket))
    return { socket: prepared(socket), ready: 'secureConnect' }
  }
}

/** Returns the TLS option that trusts the certificates of this machine and `extraCa`. */
export function trusting(extraCa: string | undefined): { ca?: string[] } {
  return extraCa === undefined ? {} : { ca: [...getCACertificates('default'), extraCa] }
}

function prepared(socket: Socket): Socket {
  return socket.setNoDelay(true).setKeepAlive(true, 30_000)
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}
