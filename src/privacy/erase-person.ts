/**
 * The erasure of one person, in one transaction, in every room that knows of them. Consent is withdrawn first, so that receivers are told
 * (`candidate.consent_changed`) and nothing else is said after it; credentials are revoked; then what is stored goes. What stays, for the
 * books: the worker's id, that a username is taken (its digest), the history of consent and identity, the ids of scores, the digests and
 * status tokens of credentials. docs/privacy.md says why, table by table.
 */
import { eraseReportsAbout } from '../agent-decisions/retention.ts'
import { eraseDisputes } from '../disputes/personal-store.ts'
import { eraseEvidence } from '../evidence/personal-store.ts'
import type { Tx } from '../platform/db/db.ts'
import { eraseCredentials } from '../score-credentials/personal-store.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { changeConsent } from '../scores/keep-sharing.ts'
import { eraseWorkings } from '../scores/personal-store.ts'
import { eraseEvents } from '../webhooks/personal-store.ts'
import { erasePerson, lockToErase } from '../workers/personal-store.ts'
import { permissions } from '../workers/schema.ts'
import { findPersonFacts, findWorkerId } from '../workers/store.ts'
import { findTraces } from './traces.ts'

export interface Erasure {
  /** Who enters it; kept nowhere but in the audit log, which the caller writes. */
  by: string
  at: Date
}

export interface Erased {
  workerId: string
  credentialsErased: number
  evidenceErased: number
  reportsErased: number
}

/** Null where nobody has the username. */
export async function eraseWorker(
  tx: Tx,
  username: string,
  { by, at }: Erasure,
): Promise<Erased | null> {
  const workerId = await findWorkerId(tx, username)
  if (workerId === null || !(await lockToErase(tx, workerId))) return null
  // Before anything is taken back: a score whose credential was revoked does not know it any more.
  const { scores, credentials, reportedNames: usernames } = await findTraces(tx, workerId)
  const [person] = await findPersonFacts(tx, [workerId])
  for (const permission of permissions)
    if (person?.consents[permission])
      await changeConsent(tx, username, { permission, textVersion: null, by, at })
  const digests = credentials.map(({ vcSha256 }) => vcSha256)
  await revokeDigests(tx, digests, at)
  await eraseCredentials(tx, digests)
  await eraseWorkings(tx, workerId, at)
  await eraseDisputes(tx, workerId)
  const evidenceErased = await eraseEvidence(tx, workerId)
  await eraseEvents(tx, workerId)
  const scoreIds = scores.map(({ snapshotId }) => snapshotId)
  const reportsErased = await eraseReportsAbout(tx, { usernames, scoreIds })
  await erasePerson(tx, workerId, at)
  return { workerId, credentialsErased: credentials.length, evidenceErased, reportsErased }
}
