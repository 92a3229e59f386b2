/**
 * Edits of profiles. A username belongs for ever to the worker that took it first; a rename takes
 * another one. Tables: writes `usernames`, `profiles` and `profile_skills`.
 */
import { sql, type Tx } from '../platform/db/db.ts'
import type { Profile, ProfileSkill } from './profile.ts'
import { usernameDigest } from './username.ts'

interface ProfileEdit {
  workerId: string
  before: Profile
  /** Fields that are absent keep their value. */
  profile: Partial<Profile>
}

type EditOutcome = 'changed' | 'unchanged' | 'username_taken'

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

interface TakenName {
  workerId: string
  username: string
}

/**
 * Takes usernames for ever. Returns the ids of the workers that own their username now: it was
 * free, or they had it before.
 */
export async function takeUsernames(
  tx: Tx,
  wanted: readonly TakenName[],
  at: Date,
): Promise<Set<string>> {
  const digests = wanted.map(({ username }) => usernameDigest(username))
  const workerIds = wanted.map(({ workerId }) => workerId)
  await tx.run(sql`
    insert into usernames (username_sha256, worker_id, taken_at)
    select digest, worker_id, ${at}
    from unnest(${digests}::bytea[], ${workerIds}::uuid[]) as new(digest, worker_id)
    order by digest
    on conflict do nothing`)
  const rows = await tx.rows<{ workerId: string }>(sql`
    select n.worker_id as "workerId"
    from unnest(${digests}::bytea[], ${workerIds}::uuid[]) as new(digest, worker_id)
    join usernames n on n.username_sha256 = new.digest and n.worker_id = new.worker_id`)
  return new Set(rows.map((row) => row.workerId))
}

interface WorkerProfile {
  workerId: string
  profile: Profile
}

/** Inserts profiles, or replaces them completely. */
export async function writeProfiles(
  tx: Tx,
  workers: readonly WorkerProfile[],
  at: Date,
): Promise<void> {
  const column = <Name extends keyof Profile>(name: Name) => workers.map((w) => w.profile[name])
  const workerIds = workers.map((worker) => worker.workerId)
  await tx.run(sql`
    insert into profiles (worker_id, username, username_sha256, display_name, title, bio,
      avatar_url, member_since, updated_at)
    select worker_id, username, digest, display_name, title, bio, avatar_url, member_since, ${at}
    from unnest(${workerIds}::uuid[], ${column('username')}::text[],
      ${workers.map(({ profile }) => usernameDigest(profile.username))}::bytea[],
      ${column('displayName')}::text[], ${column('title')}::text[], ${column('bio')}::text[],
      ${column('avatarUrl')}::text[], ${column('memberSince')}::text[])
      as new(worker_id, username, digest, display_name, title, bio, avatar_url, member_since)
    on conflict (worker_id) do update set username = excluded.username,
      username_sha256 = excluded.username_sha256, display_name = excluded.display_name,
      title = excluded.title, bio = excluded.bio, avatar_url = excluded.avatar_url,
      member_since = excluded.member_since, updated_at = excluded.updated_at`)
}

/** Deletes all skills in the profiles of these workers. */
async function deleteSkills(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`delete from profile_skills where worker_id = any(${workerIds}::uuid[])`)
}

/** Inserts the skills of profiles that have none. */
export async function insertSkills(
  tx: Tx,
  workers: readonly { workerId: string; skills: readonly ProfileSkill[] }[],
): Promise<void> {
  const rows = workers.flatMap(({ workerId, skills }) =>
    skills.map((skill, i) => ({ workerId, ...skill, place: i + 1 })),
  )
  if (rows.length === 0) return
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((r) => r[name])
  await tx.run(sql`
    insert into profile_skills (worker_id, name, verified, level, place)
    select * from unnest(${column('workerId')}::uuid[], ${column('name')}::text[],
      ${column('verified')}::boolean[], ${column('level')}::text[], ${column('place')}::smallint[])`)
}
