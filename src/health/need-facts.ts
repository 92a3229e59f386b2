/** Reads what the survey lacks of the needs of the operator. */
import type { Queryable } from '../platform/db/db.ts'
import { countFailingEndpoints } from '../webhooks/api.ts'
import type { NeedFacts } from './needs.ts'

export interface NeedServices {
  /** The kid of the active signing key, or null. */
  activeKey(db: Queryable): Promise<string | null>
  /** Whether the engine of this release was recalled. */
  isEngineRecalled(db: Queryable): Promise<boolean>
}

export async function readNeedFacts(db: Queryable, services: NeedServices): Promise<NeedFacts> {
  const [activeKey, isEngineRecalled, failingEndpoints] = await Promise.all([
    services.activeKey(db),
    services.isEngineRecalled(db),
    countFailingEndpoints(db, null),
  ])
  return { activeKey, isEngineRecalled, failingEndpoints }
}
