/** `assay keys create`: a new key file, registered. The first key signs at once, later ones wait to be rotated in. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { makeKeyFile } from '../score-credentials/key-files.ts'
import { createKeyInside, publishedBeforeUseSeconds } from '../score-credentials/rotate-keys.ts'
import type { SigningKey } from '../score-credentials/trust.ts'
import { done, type Outcome } from './output.ts'
import { withDatabase } from './with-database.ts'

export function createKeyCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    // The file first: a key that is registered and has no file would leave the service without a signer.
    const kid = await makeKeyFile(config.signingKeysDir)
    const key = await db.transaction((tx) => createRecorded(tx, kid, systemClock()))
    const next =
      key.state === 'active'
        ? 'It signs from now on.'
        : `It is published, and signs after \`assay keys rotate\`, in ${publishedBeforeUseSeconds / 60} minutes at the earliest.`
    return done({ ok: true, kid, state: key.state, folder: config.signingKeysDir }, [
      `created ${kid} (${key.state}) in ${config.signingKeysDir}`,
      next,
      'Back the file up: without it this key never signs again.',
    ])
  })
}

async function createRecorded(tx: Tx, kid: string, now: Date): Promise<SigningKey> {
  const key = await createKeyInside(tx, kid, now)
  const details = { state: key.state === 'active' ? key.state : 'pending' } as const
  await recordAction(
    tx,
    { actor: operator(), action: 'keys.created', subjects: [kid], details },
    now,
  )
  return key
}
