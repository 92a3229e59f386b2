/** Background jobs for API keys. */
import { moveKeys } from '../../access/move-keys.ts'
import { presentPepper } from '../../access/peppers.ts'
import { type ActionContext, audited, changed, unchanged } from '../../audit/action.ts'
import { operator } from '../../audit/record.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Job } from '../../platform/job-runner.ts'
import type { Log } from '../../platform/observability/log.ts'
import { readPeppers } from '../peppers.ts'

export interface KeyJobsOptions {
  config: Pick<Config, 'apiKeyPeppers' | 'dataDir'>
  db: Db
  log: Log
  clock: Clock
}

/** Returns the job that moves recently used keys to the present pepper. */
export function keyJobs({ config, db, log, clock }: KeyJobsOptions): Job[] {
  const move = async (): Promise<void> => {
    const ring = await readPeppers(config)
    if (ring === null) return
    for (let keys = 1; keys > 0; ) {
      keys = await moveKeysAudited({ db, actor: operator(), clock }, ring)
      if (keys > 0) log.info('API keys moved to the present pepper', { keys })
    }
  }
  return [{ name: 'move API keys', everyMs: 30_000, run: move }]
}

/** Returns the number of keys that moved. */
function moveKeysAudited(context: ActionContext, ring: Keyring): Promise<number> {
  return audited(context, 'api_keys.moved', async (tx, now) => {
    const subjects = await moveKeys(tx, ring, now)
    if (subjects.length === 0) return unchanged(0)
    return changed(subjects.length, { subjects, details: { pepper: presentPepper(ring).kid } })
  })
}
