/** The endpoints of score credentials. */
import { batched } from '../platform/batching.ts'
import type { Db } from '../platform/db/db.ts'
import type { Endpoint } from '../platform/http/endpoint.ts'
import { keyEndpoints } from './key-endpoints.ts'
import { originOf } from './payload.ts'
import { statusEndpoints } from './status-endpoints.ts'
import { findStatuses } from './store.ts'
import { type VerifierParts, verifierEndpoints } from './verifier-endpoints.ts'
import type { RegisteredStatus, StatusQuestion } from './verify.ts'

export interface ScoreCredentialsOptions extends Omit<VerifierParts, 'origin' | 'askStatus'> {
  db: Db
  /** Former values of `publicUrl`. */
  formerPublicUrls?: readonly string[]
}

/**
 * Deadline for one read of the database, in milliseconds. This and the limiter's deadline together
 * stay below one second, so a frozen database cannot hold a caller longer (decision D13).
 */
const answerWithinMs = 450

export function scoreCredentialEndpoints({
  db,
  formerPublicUrls = [],
  ...options
}: ScoreCredentialsOptions): Endpoint[] {
  const askStatus = batched<StatusQuestion, RegisteredStatus>({
    name: 'credential status',
    run: (questions) => findStatuses(db, questions),
    deadlineMs: answerWithinMs,
  })
  const parts = { ...options, origin: originOf(options.publicUrl), askStatus, answerWithinMs }
  const formerOrigins = formerPublicUrls.map(originOf)
  return [
    ...keyEndpoints({ ...parts, formerOrigins }),
    ...statusEndpoints(parts),
    ...verifierEndpoints(parts),
  ]
}
