/** `assay webhooks deliveries`: the last attempts at an endpoint. */
import type { Config } from '../config/config.ts'
import { wireTime } from '../platform/clock.ts'
import { findAttempts, type ShownAttempt } from '../webhooks/delivery/delivery-store.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { endpointIdOf } from './webhook-endpoint.ts'

export function deliveriesCommand(
  config: Config,
  endpoint: string,
  flags: { limit: string },
): Promise<Outcome> {
  const endpointId = endpointIdOf(endpoint)
  const limit = /^\d{1,4}$/.test(flags.limit) ? Number(flags.limit) : 0
  if (limit < 1 || limit > 1_000) throw usageError('--limit is a number from 1 to 1000.')
  return withDatabase(config, async (db) => {
    const deliveries = await findAttempts(db, { endpointId, owner: 'any', limit })
    if (deliveries === null) {
      const message = `There is no webhook endpoint ${endpointId}.`
      return done({ ok: false, message }, [message], 1)
    }
    const lines = deliveries.map(lineOf)
    return done({ ok: true, endpointId, deliveries }, lines.length > 0 ? lines : ['No attempts.'])
  })
}

function lineOf(attempt: ShownAttempt): string {
  const { requestedAt, status, errorCode, responseStatus, durationMs, nextAttemptAt } = attempt
  const again = nextAttemptAt === null ? '' : `  again ${wireTime(nextAttemptAt)}`
  const came = [responseStatus, errorCode].filter((part) => part !== null).join(' ')
  const took = durationMs === null ? '' : `${durationMs} ms`
  return `${wireTime(requestedAt)}  ${attempt.eventId}  ${attempt.eventType.padEnd(25)} #${attempt.attempt}  ${status.padEnd(11)} ${came.padEnd(16)} ${took.padStart(8)}${again}`
}
