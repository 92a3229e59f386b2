/** Whether an answer can still reach its caller, and when: what costs is paid for then, and not before. */
import { UnavailableError } from '../platform/http/errors.ts'
import { patient } from '../platform/patience.ts'
import type { Exchange } from './exchange.ts'

/** How long an answer waits for those before it on its connection: a caller that does not read must not keep calls under way. */
const turnMsMax = 1_000

/** Of requests that were sent one behind the other, each is paid for when its answer can leave: the caller may never read as far as that. */
export function turnOf(exchange: Exchange): Promise<void> | undefined {
  const { response, connection } = exchange
  if (response.socket !== null || isTooLate(exchange)) return undefined
  const { socket } = connection
  // Only the charge is left to do: a caller that does not read must not keep a slot from others.
  exchange.place?.leave()
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
    }, patient(turnMsMax))
    response.once('socket', turn)
    socket.once('close', turn)
  })
}

/** The caller has had its 503, or is gone. A request that was read to its end is destroyed all the same: the connection tells. */
export function isTooLate({ answered, connection }: Exchange): boolean {
  return answered || connection.socket.destroyed
}
