/**
 * `assay credentials show`: the credential that a person has now, to hand out or to verify: 0 it stands, 1 there is none or it does not.
 */
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Queryable } from '../platform/db/db.ts'
import { originOf, type Payload, subjectUrl } from '../score-credentials/payload.ts'
import { openSigners } from '../score-credentials/signers.ts'
import {
  findCurrentCredential,
  findStatuses,
  type StoredCredential,
} from '../score-credentials/store.ts'
import { withDatabase } from './context.ts'
import { note, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'
import { convertProofOrFail, proofFormOf } from './proof-form.ts'

export function showCredentialCommand(
  config: Config,
  given: string,
  flags: { proof: string },
): Promise<Outcome> {
  const username = usernameGiven(given)
  const form = proofFormOf(flags.proof)
  const { publicUrl, formerPublicUrls, signingKeysDir } = config
  return withDatabase(config, async (db) => {
    const subject = subjectUrl(originOf(publicUrl), username)
    const stored = await findCurrentCredential(db, subject)
    if (stored === undefined) {
      const message = `${username} has no credential of ${publicUrl}.`
      return { exitCode: 1, report: { ok: false, username, message }, lines: [message] }
    }
    const native = { ...JSON.parse(stored.payload), proof: JSON.parse(stored.proof) }
    const signers = await openSigners(signingKeysDir)
    const origins = [publicUrl, ...formerPublicUrls].map(originOf)
    const credential = await convertProofOrFail(native, form, { origins, signers })
    const lines = [JSON.stringify(credential, null, 2)]
    const flaw = await flawOf(db, stored)
    if (flaw === null) return { exitCode: 0, report: { ok: true, credential }, lines }
    const message = `${username}: ${flaw}.`
    note(message)
    return { exitCode: 1, report: { ok: false, username, message, credential }, lines }
  })
}

/** Why nobody accepts it any more, or null. */
async function flawOf(db: Queryable, { payload }: StoredCredential): Promise<string | null> {
  const [status] = await findStatuses(db, [{ token: null, vcSha256: sha256(payload) }])
  if (status?.kind !== 'registered')
    throw new Error('a credential is registered under another digest')
  const { revokedAt, keyRevokedAt } = status
  if (revokedAt !== null) return `the credential was revoked on ${wireTime(revokedAt)}`
  if (keyRevokedAt !== null)
    return `the key that signed the credential was revoked on ${wireTime(keyRevokedAt)}`
  const { validUntil } = JSON.parse(payload) as Payload
  return validUntil <= wireTime(systemClock()) ? `the credential expired on ${validUntil}` : null
}
