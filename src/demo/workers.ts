/**
 * Pure: the workers of the demo. All usernames begin with `demo-`, so that they never collide with
 * the username of a real worker.
 */
import type { Permission, RegistrationLine } from '../workers/schema.ts'
import {
  type FictionalWorker,
  fictionalWorkers,
  type Lack,
  profileSkills,
} from './sandbox/fictional-workers.ts'
import { dayAgo, timeAgo } from './scenario.ts'

export interface DemoWorker extends FictionalWorker {
  username: string
}

/** `employer` is the id of a source. */
export const demoWorkers: readonly DemoWorker[] = fictionalWorkers.map((worker) => ({
  ...worker,
  username: `demo-${worker.handle}`,
  employer: `demo-${worker.employer}`,
}))

/** The version of the consent texts and terms. */
const textVersion = 'demo-1'
const permissions: readonly Permission[] = ['public_profile', 'search_listing', 'score_sharing']
/** Identity checks are valid for this long after the seeding. */
const identityDaysAhead = 730

/** Returns the worker's line of `people.ndjson`. `labels` holds skill labels by skill id. */
export function workerLine(
  { username, displayName, title, joinedDaysAgo, lacks, career }: DemoWorker,
  labels: ReadonlyMap<string, string>,
  seededAt: Date,
): RegistrationLine {
  const has = (permission: Lack) => !lacks.includes(permission)
  const verifiedUntil = timeAgo(seededAt, -identityDaysAhead)
  return {
    externalId: username,
    username,
    displayName,
    title,
    bio: `${displayName} exists in the demo only.`,
    memberSince: dayAgo(seededAt, joinedDaysAgo).slice(0, 7),
    skills: profileSkills(career, labels),
    ...(has('terms') && {
      terms: { version: textVersion, acceptedAt: timeAgo(seededAt, joinedDaysAgo) },
    }),
    consents: permissions.filter(has).map((permission) => ({ permission, textVersion })),
    ...(has('identity') && { identity: { verifiedUntil } }),
  }
}
