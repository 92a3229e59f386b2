/**
 * `assay keys revoke`: for a key that somebody else may have. Asks for --yes, because there is no
 * way back.
 */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { findKeys } from '../score-credentials/key-store.ts'
import { revokeKey } from '../score-credentials/rotate-keys.ts'
import type { SigningKey } from '../score-credentials/trust.ts'
import { done, type Outcome } from './output.ts'
import { withDatabase } from './with-database.ts'

interface RevokeKeyFlags {
  yes?: boolean
  keepCredentials?: boolean
}

/** `name` is a kid, or a verification method that ends in one. */
export function revokeKeyCommand(
  config: Config,
  name: string,
  flags: RevokeKeyFlags,
): Promise<Outcome> {
  const kid = kidIn(name)
  const credentials = flags.keepCredentials ? 'kept' : 'revoked'
  return withDatabase(config, async (db) => {
    const keys = await findKeys(db)
    const key = keys.find((candidate) => candidate.kid === kid)
    if (key === undefined)
      return done({ ok: false, outcome: 'not_found', kid }, [`There is no key ${kid}.`], 1)
    if (key.state === 'revoked')
      return done({ ok: true, outcome: 'already_revoked', kid }, [
        `${kid} was revoked before.`,
        ...(key.credentialsRevokedAt === null ? [keptHint(kid)] : []),
      ])
    if (!flags.yes)
      return done(
        { ok: false, outcome: 'not_confirmed', kid },
        consequences(key, keys, credentials),
        2,
      )
    const now = systemClock()
    const revoked = await db.transaction((tx) => revokeRecorded(tx, kid, { now, credentials }))
    if (!revoked) return done({ ok: true, outcome: 'already_revoked', kid }, [`${kid} is revoked.`])
    return done({ ok: true, outcome: 'revoked', kid, credentials }, [
      credentials === 'revoked'
        ? `${kid} and every credential that it signed are revoked.`
        : `${kid} is revoked. ${keptHint(kid)}`,
      ...nextSteps(key, keys),
    ])
  })
}

/** The kid of a verification method, or the kid itself. */
export function kidIn(name: string): string {
  return name.slice(name.indexOf('#') + 1)
}

interface Revocation {
  now: Date
  credentials: 'revoked' | 'kept'
}

async function revokeRecorded(
  tx: Tx,
  kid: string,
  { now, credentials }: Revocation,
): Promise<boolean> {
  const revoked = await revokeKey(tx, kid, { now, keepCredentials: credentials === 'kept' })
  const action = 'keys.revoked'
  const details = { credentials }
  if (revoked) await recordAction(tx, { actor: operator(), action, subjects: [kid], details }, now)
  return revoked
}

function keptHint(kid: string): string {
  return `The status of its credentials is still active: to revoke them, run \`assay credentials revoke --key ${kid}\`.`
}

function consequences(
  key: SigningKey,
  keys: readonly SigningKey[],
  credentials: Revocation['credentials'],
): string[] {
  return [
    `This revokes ${key.kid} (${key.state}), for ever:`,
    '- every credential it ever signed becomes invalid, with the reason key_revoked;',
    credentials === 'revoked'
      ? '- their status becomes revoked, by token and in the signed lists;'
      : '- their status by token and in the signed lists stays as it is (--keep-credentials);',
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
