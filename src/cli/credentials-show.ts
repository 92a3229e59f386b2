/** `assay credentials show`: the credential that a person has now, to hand out or to verify. */
import type { Config } from '../config.ts'
import { originOf, subjectUrl } from '../score-credentials/payload.ts'
import { openSigners } from '../score-credentials/signers.ts'
import { findCurrentCredential } from '../score-credentials/store.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'
import { inFormGiven, proofFormOf } from './proof-form.ts'
import { withDatabase } from './with-database.ts'

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
    const credential = await inFormGiven(native, form, { origins, signers })
    return done({ ok: true, credential }, [JSON.stringify(credential, null, 2)])
  })
}
