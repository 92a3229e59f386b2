/** Data of a worker in other modules that is stored under a name or an id. */
import { type CredentialRecord, findCredentialRecords } from '../credentials/api.ts'
import type { Tx } from '../platform/db/db.ts'
import { findReportedNames } from '../reports/api.ts'
import { findScoreRecords, type ScoreRecord } from '../scoring/api.ts'
import { findUsernameDigests } from '../workers/api.ts'

export interface Traces {
  scores: ScoreRecord[]
  /**
   * Credentials of these scores, and all credentials that were issued by hand under any username of
   * the worker.
   */
  credentials: CredentialRecord[]
  /** Usernames of the worker that agent reports name. */
  reportedNames: string[]
}

export async function findTraces(tx: Tx, workerId: string): Promise<Traces> {
  const scores = await findScoreRecords(tx, workerId)
  const vcSha256s = scores.flatMap(({ vcSha256 }) =>
    vcSha256 === null ? [] : Buffer.from(vcSha256, 'hex'),
  )
  const usernameSha256s = await findUsernameDigests(tx, workerId)
  const credentials = await findCredentialRecords(tx, { vcSha256s, usernameSha256s })
  const reportedNames = await findReportedNames(tx, usernameSha256s)
  return { scores, credentials, reportedNames }
}
