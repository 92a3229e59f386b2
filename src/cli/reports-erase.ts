/** `assay reports erase`: deletes every report about a person or a score, whoever made it; the keys stay used. */
import { eraseReportsAbout } from '../agent-decisions/retention.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'

export interface EraseReportsFlags {
  username?: string[]
  score?: string[]
}

export function eraseReportsCommand(config: Config, flags: EraseReportsFlags): Promise<Outcome> {
  const usernames = (flags.username ?? []).map(usernameGiven)
  const scoreIds = (flags.score ?? []).map((id) => id.toLowerCase())
  if (usernames.length + scoreIds.length === 0)
    throw usageError('Name whom: --username or --score.')
  for (const id of scoreIds)
    if (!/^[0-9a-f]{64}$/.test(id)) throw usageError('--score takes 64 hexadecimal characters.')
  return withDatabase(config, async (db) => {
    const erased = await db.transaction(async (tx) => {
      const count = await eraseReportsAbout(tx, { usernames, scoreIds })
      const action = 'agent_reports.erased'
      const entry = { actor: operator(), action, subjects: [], details: { count } } as const
      if (count > 0) await recordAction(tx, entry, systemClock())
      return count
    })
    return done({ ok: true, erased }, [`${erased} reports were erased.`])
  })
}
