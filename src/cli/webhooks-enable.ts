/** `assay webhooks enable`, `pause`, `resume` and `activate-secret`: one change of one endpoint. */
import type { Config } from '../config/config.ts'
import type { Tx } from '../platform/db/db.ts'
import { enableEndpoint, pauseEndpoint } from '../webhooks/endpoints/enable.ts'
import { activateSecret } from '../webhooks/endpoints/rotate-secret.ts'
import type { Outcome } from './output.ts'
import { type Changed, changeEndpoint, refusal, refusalOf } from './webhook-endpoint.ts'

type EndpointAction =
  | 'webhooks.enabled'
  | 'webhooks.paused'
  | 'webhooks.resumed'
  | 'webhooks.secret_activated'

function changed(action: EndpointAction, id: string, isChanged: boolean, now: string): Changed {
  return {
    entry: isChanged ? { action, subjects: [id], details: {} } : null,
    result: { changed: isChanged },
    lines: [isChanged ? `${id} ${now}.` : `${id} is as it was.`],
  }
}

export function enableCommand(config: Config, endpoint: string): Promise<Outcome> {
  const activeMax = config.webhookEndpointsMax
  return changeEndpoint(config, endpoint, async (tx, endpointId, at) => {
    const outcome = await enableEndpoint(tx, { endpointId, activeMax, at })
    if (outcome === 'no such endpoint') return refusalOf(outcome)
    if (outcome === 'at maximum')
      return refusal(`Its account has ${activeMax} active endpoints, the maximum.`)
    return changed('webhooks.enabled', endpointId, outcome === 'enabled', 'receives events again')
  })
}

export function pauseCommand(config: Config, endpoint: string): Promise<Outcome> {
  return changeEndpoint(config, endpoint, (tx, id, at) => pausing(tx, id, at))
}

export function resumeCommand(config: Config, endpoint: string): Promise<Outcome> {
  return changeEndpoint(config, endpoint, (tx, id) => pausing(tx, id, null))
}

async function pausing(tx: Tx, id: string, at: Date | null): Promise<Changed> {
  const before = await pauseEndpoint(tx, id, at)
  if (before === undefined) return refusalOf('no such endpoint')
  if (at === null)
    return changed('webhooks.resumed', id, before.pausedAt !== null, 'receives what waited for it')
  return changed('webhooks.paused', id, before.pausedAt === null, 'is paused: deliveries wait')
}

export function activateSecretCommand(config: Config, endpoint: string): Promise<Outcome> {
  return changeEndpoint(config, endpoint, async (tx, id, at) =>
    (await activateSecret(tx, id, at))
      ? changed('webhooks.secret_activated', id, true, 'signs with its announced secret now')
      : refusal('No secret of such an endpoint is announced.'),
  )
}
