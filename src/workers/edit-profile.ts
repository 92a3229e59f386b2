/**
 * Edits of profiles. A username belongs for ever to the worker that took it first; a rename takes
 * another one.
 */
import type { Tx } from '../platform/db/db.ts'
import type { Profile } from './profile.ts'
import { deleteSkills, insertSkills, takeUsernames, writeProfiles } from './profile-store.ts'

export interface ProfileEdit {
  workerId: string
  before: Profile
  /** Fields that are absent keep their value. */
  profile: Partial<Profile>
}

export type EditOutcome = 'changed' | 'unchanged' | 'username_taken'

/**
 * Applies at most one edit a worker. The caller has locked the workers and checked the edits.
 * Returns the outcome of each edit, in order.
 */
export async function editProfiles(
  tx: Tx,
  edits: readonly ProfileEdit[],
  at: Date,
): Promise<EditOutcome[]> {
  const edited = edits.map(({ workerId, before, profile }) => {
    const after: Profile = { ...before, ...profile }
    return { workerId, before, profile: after, isSame: isSame(before, after) }
  })
  const renamed = edited
    .filter(({ before, profile }) => before.username !== profile.username)
    .map(({ workerId, profile }) => ({ workerId, username: profile.username }))
  const owners = renamed.length === 0 ? new Set() : await takeUsernames(tx, renamed, at)
  const refused = new Set(
    renamed.map(({ workerId }) => workerId).filter((workerId) => !owners.has(workerId)),
  )
  const written = edited.filter(({ workerId, isSame }) => !isSame && !refused.has(workerId))
  if (written.length > 0) await writeProfiles(tx, written, at)
  const reskilled = written.flatMap(({ workerId, before, profile: { skills } }) =>
    JSON.stringify(before.skills) === JSON.stringify(skills) ? [] : { workerId, skills },
  )
  if (reskilled.length > 0) {
    await deleteSkills(
      tx,
      reskilled.map(({ workerId }) => workerId),
    )
    await insertSkills(tx, reskilled)
  }
  return edited.map(({ workerId, isSame }) =>
    refused.has(workerId) ? 'username_taken' : isSame ? 'unchanged' : 'changed',
  )
}

function isSame(before: Profile, after: Profile): boolean {
  const names = Object.keys(before) as (keyof Profile)[]
  return names.every((name) => JSON.stringify(before[name]) === JSON.stringify(after[name]))
}
