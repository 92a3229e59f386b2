/**
 * Decides whether and when a response can still reach its caller. A paid call is charged at that
 * time and not before.
 */
import { deadlineMs } from '../platform/deadlines.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Resolves when it is this response's turn on its connection. Pipelined requests are each charged
 * at their turn, because the caller may never read that far.
 */
export function turnOf(context: RequestContext): Promise<void> | undefined {
  const { response, connection } = context
  if (response.socket !== null || isTooLate(context)) return undefined
  const { socket } = connection
  // Only the charge is left to do. A caller that does not read must not hold a slot.
  context.place?.leave()
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      response.off('socket', turn)
      socket.off('close', turn)
    }
    const turn = (): void => {
      end()
      resolve()
    }
    const timer = setTimeout(() => {
      end()
      reject(new UnavailableError('the answer before it has not left'))
    }, deadlineMs('turn'))
    response.once('socket', turn)
    socket.once('close', turn)
  })
}

/**
 * Returns whether the caller already has its 503 or is gone. A fully read request counts as
 * destroyed in any case, so the connection is asked.
 */
export function isTooLate({ answered, connection }: RequestContext): boolean {
  return answered || connection.socket.destroyed
}
