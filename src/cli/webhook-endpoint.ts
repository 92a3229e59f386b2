/** What every command about one webhook endpoint does: its id is read, the change made, and the entry left with it. */
import type { Action } from '../audit/actions.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { uuidForm } from './uuid-form.ts'

/** Throws `Failure` where the text is no id. */
export function endpointIdOf(text: string): string {
  if (!uuidForm.test(text)) throw usageError('An endpoint is named by its id: a UUID.')
  return text.toLowerCase()
}

/** What a change came to: an entry for the audit log where something changed, and what is told. */
export interface Changed {
  entry: Action | null
  result: object
  lines: string[]
  /** Nothing could be done. */
  refused?: boolean
}

/** One transaction: the change and its entry, or neither. */
export function changeEndpoint(
  config: Config,
  endpoint: string,
  change: (tx: Tx, endpointId: string, now: Date) => Promise<Changed>,
): Promise<Outcome> {
  const endpointId = endpointIdOf(endpoint)
  return withDatabase(config, async (db) => {
    const now = systemClock()
    const { result, lines, refused } = await db.transaction(async (tx) => {
      const changed = await change(tx, endpointId, now)
      const { entry } = changed
      if (entry !== null) await recordAction(tx, { actor: operator(), ...entry }, now)
      return changed
    })
    return done({ ok: !refused, endpointId, ...result }, lines, refused ? 1 : 0)
  })
}

export function refusal(message: string): Changed {
  return { entry: null, result: { message }, lines: [message], refused: true }
}

const refusals = {
  'no such endpoint': 'There is no such webhook endpoint.',
  'no such event': 'There is no such event, or it may no longer leave.',
  disabled: 'The endpoint is disabled: `assay webhooks enable` first.',
  'a rotation is under way':
    'A rotation is under way. Wait until it ends, or, if a secret has leaked, add --now --drop-old.',
  'replaced by another operator':
    'Another operator has just replaced the secret. Run the command again to replace that one too.',
}

export function refusalOf(outcome: keyof typeof refusals): Changed {
  return refusal(refusals[outcome])
}
