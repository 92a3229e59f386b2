/** Background jobs for API keys. */
import { moveKeys } from '../../access/move-keys.ts'
import { presentPepper } from '../../access/peppers.ts'
import { operator, recordAction } from '../../audit/record.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Job } from '../../platform/job-runner.ts'
import type { Log } from '../../platform/observability/log.ts'
import { peppersHere } from '../peppers.ts'

export interface KeyJobsParts {
  config: Pick<Config, 'apiKeyPeppers' | 'dataDir'>
  db: Db
  log: Log
  clock: Clock
}

/** Keys that were used move to the present pepper. */
export function keyJobs({ config, db, log, clock }: KeyJobsParts): Job[] {
  const move = async (): Promise<void> => {
    const ring = await peppersHere(config)
    if (ring === null) return
    for (let keys = 1; keys > 0; ) {
      keys = await moveKeysRecorded(db, ring, clock())
      if (keys > 0) log.info('API keys rest on the present pepper now', { keys })
    }
  }
  return [{ name: 'move API keys', everyMs: 30_000, run: move }]
}

/** Returns how many moved. */
function moveKeysRecorded(db: Db, ring: Keyring, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const subjects = await moveKeys(tx, ring, now)
    const details = { pepper: presentPepper(ring).kid }
    const entry = { actor: operator(), action: 'api_keys.moved', subjects, details } as const
    if (subjects.length > 0) await recordAction(tx, entry, now)
    return subjects.length
  })
}
