/**
 * The gates of the server: one for each priority, so that none holds up the others (decision D12).
 */
import { createGate, type Gate, type GateLimits } from './gate.ts'
import { type Priority, priorities } from './http/contract.ts'
import { type Endpoint } from './http/endpoint.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Payments have their own gate: they wait seconds for a facilitator and a chain, and must not take
 * the slots of reads by key.
 */
export type Gates = Readonly<Record<Priority | 'payment', Gate>>

/**
 * Slots of each gate as a multiple of the limit. A read by key waits for the database, and one
 * statement serves all reads that wait: with 256 slots in place of 64, 256 connections get 1.35
 * times the reads a second. A payment waits seconds for other servers. Both use the processor for
 * little of that time.
 */
const slotFactors: Readonly<Record<Priority | 'payment', number>> = {
  public: 1,
  write: 1,
  read: 4,
  search: 1,
  operator: 1,
  payment: 8,
}

export function openGates(limits: GateLimits): Gates {
  const all: Gate[] = []
  const open = (name: Priority | 'payment'): Gate => {
    const isIdle = (other: Gate) => other.active() === 0 && other.waiting() === 0
    const own = { ...limits, slots: limits.slots * slotFactors[name] }
    const opened = createGate(own, () => all.every((gate) => gate === opened || isIdle(gate)))
    all.push(opened)
    return opened
  }
  const each = priorities.map((priority) => [priority, open(priority)] as const)
  return { ...(Object.fromEntries(each) as Omit<Gates, 'payment'>), payment: open('payment') }
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
