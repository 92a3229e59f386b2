/** Finds, in the registry, the credentials that the demo's files hold: what came of the scores of five people under one address. */

import type { Queryable } from '../platform/db/db.ts'
import { type Origin, subjectUrl } from '../score-credentials/payload.ts'
import { findIssued, type RegisteredCredential } from '../score-credentials/store.ts'
import { findWorkerCredentials } from '../scores/store.ts'
import { findWorkers } from '../workers/store.ts'
import { heroes, type Lesson } from './story.ts'

const isThe: Record<Lesson, (one: RegisteredCredential, now: Date) => boolean> = {
  valid: isCurrent,
  revoked: ({ revokedAt }) => revokedAt !== null,
  tampered: isCurrent,
  expired: ({ revokedAt, validUntil }, now) => revokedAt === null && validUntil <= now,
  superseded: ({ supersededAt, revokedAt }) => supersededAt !== null && revokedAt === null,
}

function isCurrent({ supersededAt, revokedAt }: RegisteredCredential): boolean {
  return supersededAt === null && revokedAt === null
}

/** By lesson; one that nobody teaches is absent. Of several the one that was issued last. */
export async function findLessons(
  db: Queryable,
  origin: Origin,
  now: Date,
): Promise<Map<Lesson, RegisteredCredential>> {
  const people = await findWorkers(db, { externalIds: Object.values(heroes) })
  const workerIds = people.map(({ workerId }) => workerId)
  const held = workerIds.length === 0 ? [] : await findWorkerCredentials(db, workerIds)
  const digests = held.flatMap(({ vcSha256 }) => vcSha256 ?? [])
  const issued = digests.length === 0 ? [] : await findIssued(db, digests)
  const found = new Map<Lesson, RegisteredCredential>()
  for (const [lesson, username] of Object.entries(heroes) as [Lesson, string][]) {
    const subject = subjectUrl(origin, username)
    const own = issued.filter((one) => one.subject === subject && isThe[lesson](one, now))
    const last = own.sort((a, b) => a.issuedAt.getTime() - b.issuedAt.getTime()).at(-1)
    if (last !== undefined) found.set(lesson, last)
  }
  return found
}
