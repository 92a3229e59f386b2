/**
 * The gates of the server: one for each priority, so that none holds up the others (decision D12).
 */
import { type Priority, priorities } from '../platform/http/contract.ts'
import { type Endpoint } from '../platform/http/endpoint.ts'
import { createGate, type Gate, type GateLimits } from './gate.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Payments have their own gate: they wait seconds for a facilitator and a chain, and must not take
 * the slots of reads by key.
 */
export type Gates = Readonly<Record<Priority | 'payment', Gate>>

/** A payment waits seconds for other servers and uses the processor for milliseconds. */
const paymentSlotsFactor = 8

export function openGates(limits: GateLimits): Gates {
  const all: Gate[] = []
  const open = (limits: GateLimits): Gate => {
    const isIdle = (other: Gate) => other.active() === 0 && other.waiting() === 0
    const opened = createGate(limits, () => all.every((gate) => gate === opened || isIdle(gate)))
    all.push(opened)
    return opened
  }
  const each = priorities.map((priority) => [priority, open(limits)] as const)
  const payment = open({ ...limits, slots: limits.slots * paymentSlotsFactor })
  return { ...(Object.fromEntries(each) as Omit<Gates, 'payment'>), payment }
}

export function gateOf(
  gates: Gates,
  { policy, priority }: Endpoint,
  { request: { headers } }: RequestContext,
): Gate {
  const isPayment =
    policy.kind === 'paid' &&
    headers.authorization === undefined &&
    (headers['x-payment'] ?? headers['payment-signature']) !== undefined
  return gates[isPayment ? 'payment' : priority]
}
