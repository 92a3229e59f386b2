/**
 * Opening a connection: the name is resolved, every address vetted, and exactly a vetted one is dialled, so that a name which answers
 * otherwise a moment later changes nothing (DNS rebinding), and neither does an address written as the host. Certificate, SNI and Host
 * stay those of the name.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, getCACertificates } from 'node:tls'
import { callbackify } from 'node:util'
import type { buildConnector } from 'undici'
import { parseAddress } from '../http/networks.ts'
import { RecentMap } from '../recent-map.ts'
import { connectFailure, EgressError } from './failures.ts'
import type { Resolve } from './names.ts'
import { type EgressRules, mayDial } from './rules.ts'

export interface DialOptions {
  rules: EgressRules
  resolve: Resolve
  /** For TCP and TLS together, over all addresses that are tried. */
  connectMs: number
  /** PEM certificates to trust beside the usual ones. */
  extraCa?: string | undefined
}

/** How many addresses of one name are tried. */
const addressesTriedMax = 4

/** For undici: what it calls when it needs a connection. */
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
      // Half of what is left, so that an address that swallows everything leaves time for the next.
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

/** Refuses a name of which a single address is not to be dialled: who mixes them is up to something. */
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
    throw new EgressError('dns_error', 'the host has no address', error)
  }
}

/** The last word: what the connection itself says about its other end. */
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
      // From here on undici listens.
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

const sessionsMax = 1_000

/** Begins to connect. TLS sessions are taken up again, which saves the receiver and us most of a handshake. */
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
      // An address has no SNI; the certificate must name it all the same.
      servername: isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
      secureContext,
      ...(session === undefined ? {} : { session }),
    })
    socket.on('session', (ticket) => sessions.set(`${host}:${port}`, ticket))
    return { socket: prepared(socket), ready: 'secureConnect' }
  }
}

/** For TLS: the certificates of this machine, and one more. */
export function trusting(extraCa: string | undefined): { ca?: string[] } {
  return extraCa === undefined ? {} : { ca: [...getCACertificates('default'), extraCa] }
}

function prepared(socket: Socket): Socket {
  return socket.setNoDelay(true).setKeepAlive(true, 30_000)
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}
