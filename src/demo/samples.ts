/** Finds the registered credentials that the demo's files show: one worker for each sample. */
import { findIssued, type RegisteredCredential } from '../credentials/api.ts'
import { type Origin, subjectUrl } from '../credentials/payload.ts'
import type { Queryable } from '../platform/db/db.ts'
import { findWorkerCredentials } from '../scoring/api.ts'
import { findWorkers } from '../workers/api.ts'
import { type Sample, sampleWorkers } from './scenario.ts'

const matches: Record<Sample, (one: RegisteredCredential, now: Date) => boolean> = {
  valid: isCurrent,
  revoked: ({ revokedAt }) => revokedAt !== null,
  tampered: isCurrent,
  expired: ({ revokedAt, validUntil }, now) => revokedAt === null && validUntil <= now,
  superseded: ({ supersededAt, revokedAt }) => supersededAt !== null && revokedAt === null,
}

function isCurrent({ supersededAt, revokedAt }: RegisteredCredential): boolean {
  return supersededAt === null && revokedAt === null
}

/** Returns the last matching credential of each sample. A sample without one is absent. */
export async function findSamples(
  db: Queryable,
  origin: Origin,
  now: Date,
): Promise<Map<Sample, RegisteredCredential>> {
  const workers = await findWorkers(db, { externalIds: Object.values(sampleWorkers) })
  const workerIds = workers.map(({ workerId }) => workerId)
  const held = workerIds.length === 0 ? [] : await findWorkerCredentials(db, workerIds)
  const digests = held.flatMap(({ vcSha256 }) => vcSha256 ?? [])
  const issued = digests.length === 0 ? [] : await findIssued(db, digests)
  const found = new Map<Sample, RegisteredCredential>()
  for (const [sample, username] of Object.entries(sampleWorkers) as [Sample, string][]) {
    const subject = subjectUrl(origin, username)
    const own = issued.filter((one) => one.subject === subject && matches[sample](one, now))
    const last = own.sort((a, b) => a.issuedAt.getTime() - b.issuedAt.getTime()).at(-1)
    if (last !== undefined) found.set(sample, last)
  }
  return found
}
