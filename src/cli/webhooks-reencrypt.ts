/** `assay webhooks reencrypt`: every secret sealed under the first key of the ring, so that an older key can leave it. */
import { openSecretsKeyring } from '../app/secrets-keyring.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { reencryptSecrets } from '../webhooks/endpoints/reencrypt.ts'
import { withDatabase } from './context.ts'
import { failure } from './fail.ts'
import { done, type Outcome } from './output.ts'

const batchMax = 500

/** In batches, each with its entry: a run that was cut off can be run again. */
export function reencryptCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const ring = await openSecretsKeyring(config)
    const [kid] = ring?.keys() ?? []
    if (ring === null || kid === undefined)
      throw failure('There is no key ring: set SECRETS_KEYRING.')
    let reencrypted = 0
    for (let count = batchMax; count === batchMax; reencrypted += count)
      count = await db.transaction(async (tx) => {
        const sealed = await reencryptSecrets(tx, ring, batchMax)
        const details = { count: sealed }
        const entry = {
          actor: operator(),
          action: 'webhooks.reencrypted',
          subjects: [],
          details,
        } as const
        if (sealed > 0) await recordAction(tx, entry, systemClock())
        return sealed
      })
    return done({ ok: true, kid, reencrypted }, [
      `${reencrypted} secrets were sealed anew: all are under ${kid}.`,
    ])
  })
}
