/** `assay keys revoke`: for a key that somebody else may have. Asks for --yes, for there is no way back. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { findKeys } from '../score-credentials/key-store.ts'
import { revokeKeyInside } from '../score-credentials/rotate-keys.ts'
import type { SigningKey } from '../score-credentials/trust.ts'
import { done, type Outcome } from './output.ts'
import { withDatabase } from './with-database.ts'

/** `name` is a kid, or a verification method that ends in one. */
export function revokeKeyCommand(
  config: Config,
  name: string,
  flags: { yes?: boolean },
): Promise<Outcome> {
  const kid = name.slice(name.indexOf('#') + 1)
  return withDatabase(config, async (db) => {
    const keys = await findKeys(db)
    const key = keys.find((candidate) => candidate.kid === kid)
    if (key === undefined)
      return done({ ok: false, outcome: 'not_found', kid }, [`There is no key ${kid}.`], 1)
    if (key.state === 'revoked')
      return done({ ok: true, outcome: 'already_revoked', kid }, [`${kid} was revoked before.`])
    if (!flags.yes)
      return done({ ok: false, outcome: 'not_confirmed', kid }, consequences(key, keys), 2)
    const revoked = await db.transaction((tx) => revokeRecorded(tx, kid, systemClock()))
    const outcome = revoked ? 'revoked' : 'already_revoked'
    return done({ ok: true, outcome, kid }, [`${kid} is revoked.`, ...nextSteps(key, keys)])
  })
}

async function revokeRecorded(tx: Tx, kid: string, now: Date): Promise<boolean> {
  const revoked = await revokeKeyInside(tx, kid, now)
  const action = 'keys.revoked'
  if (revoked)
    await recordAction(tx, { actor: operator(), action, subjects: [kid], details: {} }, now)
  return revoked
}

function consequences(key: SigningKey, keys: readonly SigningKey[]): string[] {
  return [
    `This revokes ${key.kid} (${key.state}), for ever:`,
    '- every credential it ever signed becomes invalid, with the reason key_revoked;',
    '- its holders need new credentials, signed by another key.',
    'Do it when somebody else may have the private key; to change keys in peace, `assay keys rotate`.',
    ...nextSteps(key, keys),
    'Nothing was done. To go ahead, repeat the command with --yes.',
  ]
}

function nextSteps(key: SigningKey, keys: readonly SigningKey[]): string[] {
  if (key.state !== 'active') return []
  const hasPending = keys.some((candidate) => candidate.state === 'pending')
  const next = hasPending ? 'assay keys rotate' : 'assay keys create'
  return [`No key signs after that until you run \`${next}\`.`]
}
