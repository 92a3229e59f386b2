/** `assay webhooks create`: an endpoint for an account; the signing secret is shown this once. */
import { openSecretsKeyring } from '../app/secrets-keyring.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { createEndpoint } from '../webhooks/endpoints/create.ts'
import { wireEndpoint } from '../webhooks/endpoints/handlers.ts'
import { readEndpointRequest } from '../webhooks/endpoints/request.ts'
import { withDatabase } from './context.ts'
import { failure, usageError } from './fail.ts'
import { accountNamed } from './names.ts'
import { done, type Outcome } from './output.ts'

export interface CreateEndpointFlags {
  account: string
  event: string[]
  description?: string
}

export function createEndpointCommand(
  config: Config,
  url: string,
  { account, event: events, description }: CreateEndpointFlags,
): Promise<Outcome> {
  const body = { url, events, ...(description === undefined ? {} : { description }) }
  const { rules } = config.webhooks
  const read = readEndpointRequest(body, rules, { allowHttp: rules.allowHttp })
  if ('fault' in read) throw usageError(read.fault)
  return withDatabase(config, async (db) => {
    const ring = await openSecretsKeyring(config)
    if (ring === null) throw failure('There is no key ring: set SECRETS_KEYRING.')
    const { id: userId } = await accountNamed(db, account)
    const now = systemClock()
    const wish = { userId, request: read.request, idempotencyKey: null, now }
    const limits = { ring, activeMax: config.webhookEndpointsMax }
    const creation = await db.transaction(async (tx) => {
      const made = await createEndpoint(tx, limits, wish)
      if (made.outcome === 'created') {
        const subjects = [made.endpoint.id]
        const entry = {
          actor: operator(),
          action: 'webhooks.created',
          subjects,
          details: {},
        } as const
        await recordAction(tx, entry, now)
      }
      return made
    })
    if (creation.outcome !== 'created')
      throw failure(`The account has ${limits.activeMax} active endpoints, its maximum.`)
    const { endpoint, signingSecret } = creation
    return done({ ok: true, endpoint: wireEndpoint(endpoint), signingSecret }, [
      `endpoint        ${endpoint.id}`,
      `signing secret  ${signingSecret}`,
      'The secret is not shown again.',
    ])
  })
}
