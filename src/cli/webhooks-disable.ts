/** `assay webhooks disable`: nothing more is sent to an endpoint; what waits for it is cancelled. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { untilNothingStarts } from '../webhooks/delivery/start-window.ts'
import { disableEndpoint } from '../webhooks/endpoints/disable.ts'
import { wireEndpoint } from '../webhooks/endpoints/handlers.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { uuidForm } from './uuid-form.ts'

export function disableEndpointCommand(config: Config, endpointId: string): Promise<Outcome> {
  if (!uuidForm.test(endpointId)) throw usageError('An endpoint is named by its id: a UUID.')
  return withDatabase(config, async (db) => {
    const now = systemClock()
    const disabled = await db.transaction(async (tx) => {
      const wish = { endpointId, owner: 'any', reason: 'operator', now } as const
      const answer = await disableEndpoint(tx, wish)
      if (answer?.changed) {
        const subjects = [answer.endpoint.id]
        const entry = {
          actor: operator(),
          action: 'webhooks.disabled',
          subjects,
          details: {},
        } as const
        await recordAction(tx, entry, now)
      }
      return answer
    })
    if (disabled === null) {
      const message = `There is no webhook endpoint ${endpointId}.`
      return done({ ok: false, message }, [message], 1)
    }
    const { endpoint, changed } = disabled
    await untilNothingStarts(endpoint.disabledAt ?? now, now)
    const since = endpoint.disabledAt === null ? '' : wireTime(endpoint.disabledAt)
    return done({ ok: true, changed, endpoint: wireEndpoint(endpoint) }, [
      changed ? `${endpoint.id} is disabled.` : `${endpoint.id} has been disabled since ${since}.`,
    ])
  })
}
