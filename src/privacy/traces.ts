/** What other rooms have of a person under a name or an id that must be found out first. */
import { findReportedNames } from '../agent-decisions/personal-store.ts'
import type { Tx } from '../platform/db/db.ts'
import {
  type CredentialRecord,
  findCredentialRecords,
} from '../score-credentials/personal-store.ts'
import { findScoreRecords, type ScoreRecord } from '../scores/personal-store.ts'
import { findUsernameDigests } from '../workers/personal-store.ts'

export interface Traces {
  scores: ScoreRecord[]
  /** Of these scores, and all that were issued by hand under any name that the person had. */
  credentials: CredentialRecord[]
  /** Usernames of the person that clients reported about. */
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
