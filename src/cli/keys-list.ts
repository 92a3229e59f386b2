/** `assay keys list`: every key that ever signed, its state and whether this machine can sign with it. */
import type { Config } from '../config/config.ts'
import { wireTime } from '../platform/clock.ts'
import { readSigners } from '../score-credentials/key-files.ts'
import { findKeys, type RegisteredKey } from '../score-credentials/key-store.ts'
import { done, type Outcome } from './output.ts'
import { withDatabase } from './with-database.ts'

export function listKeysCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const keys = await findKeys(db)
    const signers = await readSigners(config.signingKeysDir)
    const rows = keys.map((key) => ({ ...told(key), signsHere: signers.has(key.kid) }))
    const unregistered = [...signers.keys()].filter((kid) => !keys.some((key) => key.kid === kid))
    return done({ ok: true, keys: rows, unregistered }, [
      ...rows.map(lineOf),
      ...unregistered.map((kid) => `${kid}  not registered: a file in ${config.signingKeysDir}`),
      ...(rows.length === 0 ? ['There is no signing key yet: `assay keys create`.'] : []),
    ])
  })
}

const told = (key: RegisteredKey) => ({
  kid: key.kid,
  state: key.state,
  createdAt: wireTime(key.createdAt),
  activatedAt: key.activatedAt && wireTime(key.activatedAt),
  retiredAt: key.retiredAt && wireTime(key.retiredAt),
  revokedAt: key.revokedAt && wireTime(key.revokedAt),
  credentialsRevokedAt: key.credentialsRevokedAt && wireTime(key.credentialsRevokedAt),
})

function lineOf(key: ReturnType<typeof told> & { signsHere: boolean }): string {
  const dates = [
    `created ${key.createdAt}`,
    key.activatedAt && `active from ${key.activatedAt}`,
    key.retiredAt && `retired ${key.retiredAt}`,
    key.revokedAt && `revoked ${key.revokedAt}`,
    key.revokedAt && `its credentials ${key.credentialsRevokedAt ? 'revoked' : 'kept'}`,
    key.signsHere ? 'file here' : 'file not here',
  ]
  return `${key.kid}  ${key.state.padEnd(7)}  ${dates.filter(Boolean).join(', ')}`
}
