/** Lets a request wait for a slot of its gate, and frees everything that it holds. */
import { type Refusal, refuse } from '../platform/errors.ts'
import { type Gate, retryAfterSeconds } from './gate.ts'
import type { RequestContext } from './request-context.ts'

export interface SlotOptions {
  /** Requests that wait or are in progress, for their deadline and for the drain. */
  pending: Set<RequestContext>
}

export interface Entrant {
  start(): void
  refuse(refusal: Refusal): void
  /** Called if the caller closes its connection while the request waits. */
  leave(): void
}

/** Calls one function of the entrant: now if the gate has room, otherwise once that is decided. */
export function enterGate(
  { pending }: SlotOptions,
  context: RequestContext,
  gate: Gate,
  entrant: Entrant,
): void {
  const { socket } = context.connection
  let isWaiting = false
  const leave = (): void => {
    context.place?.leave()
    entrant.leave()
  }
  const place = gate.enter(context.client.lane, {
    start(slot) {
      context.place = slot
      if (isWaiting) socket.off('close', leave)
      entrant.start()
    },
    refuse() {
      socket.off('close', leave)
      entrant.refuse(overloaded(context))
    },
  })
  if (place === null) return
  isWaiting = true
  context.place = place
  pending.add(context)
  socket.once('close', leave)
}

function overloaded({ route }: RequestContext): Refusal {
  route.meter.shed++
  const seconds = String(retryAfterSeconds(Math.random()))
  return refuse('overloaded', { headers: { 'Retry-After': seconds } })
}

/**
 * Frees everything that the request holds, before its response is written. A second call has no
 * effect.
 */
export function closeRequest(
  { pending }: Pick<SlotOptions, 'pending'>,
  context: RequestContext,
): void {
  const { place, body } = context
  pending.delete(context)
  place?.leave()
  body?.release()
}
