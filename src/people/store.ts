/** All SQL of workers, usernames, profiles, profile_skills, consents, consent_changes, identities and identity_changes. */
import { type Queryable, sql, type Tx } from '../platform/db.ts'
import type { PersonFacts } from './gate.ts'
import type { StoredIdentity } from './identity-state.ts'
import type { Profile, ProfileSkill } from './profile.ts'
import type { Permission } from './schema.ts'
import { usernameDigest } from './username.ts'

export interface Person {
  workerId: string
  externalId: string | null
  profile: Profile
  termsVersion: string | null
  termsAcceptedAt: Date | null
  onboardedAt: Date | null
  consentVersion: number
  consents: Partial<Record<Permission, Consent>>
  identity: StoredIdentity | null
}

export interface Consent {
  granted: boolean
  /** Of the text agreed to; null where withdrawn. */
  textVersion: string | null
  consentVersion: number
}

interface PersonRow extends Omit<Person, 'profile' | 'consents' | 'identity'>, Profile {
  consents: Partial<Record<Permission, Consent>> | null
  identityState: StoredIdentity['state'] | null
  verifiedUntil: Date | null
}

/** Any of them may be left out. */
interface Names {
  workerIds?: readonly string[]
  externalIds?: readonly string[]
  usernames?: readonly string[]
}

/** Who has one of the names now. */
export async function findPeople(db: Queryable, names: Names): Promise<Person[]> {
  const { workerIds = [], externalIds = [], usernames = [] } = names
  const rows = await db.rows<PersonRow>(sql`
    select w.id as "workerId", w.external_id as "externalId", w.terms_version as "termsVersion",
      w.terms_accepted_at as "termsAcceptedAt", w.onboarded_at as "onboardedAt",
      w.consent_version as "consentVersion", p.username, p.display_name as "displayName", p.title,
      p.bio, p.avatar_url as "avatarUrl", p.member_since as "memberSince",
      (select coalesce(json_agg(json_build_object('name', s.name, 'verified', s.verified,
        'level', s.level) order by s.place), '[]')
        from profile_skills s where s.worker_id = w.id) as skills,
      (select json_object_agg(c.permission, json_build_object('granted', c.granted,
        'textVersion', c.text_version, 'consentVersion', c.consent_version))
        from consents c where c.worker_id = w.id) as consents,
      i.state as "identityState", i.verified_until as "verifiedUntil"
    from workers w join profiles p on p.worker_id = w.id
    left join identities i on i.worker_id = w.id
    where w.id in (select unnest(${workerIds}::uuid[])
      union all select id from workers where external_id = any(${externalIds}::text[])
      union all select worker_id from profiles where username = any(${usernames}::text[]))`)
  return rows.map(personOf)
}

function personOf(row: PersonRow): Person {
  const { identityState, verifiedUntil, consents, ...rest } = row
  const { username, displayName, title, bio, avatarUrl, memberSince, skills, ...worker } = rest
  return {
    ...worker,
    profile: { username, displayName, title, bio, avatarUrl, memberSince, skills },
    consents: consents ?? {},
    identity: identityState === null ? null : { state: identityState, verifiedUntil },
  }
}

/**
 * Whoever changes a person takes this lock first: changes of one person follow each other, and so do their events. In the order of
 * ids, so that two bulk changes wait for each other instead of deadlocking. Gives what a change needs to know of each.
 */
export function lockWorkers(
  tx: Tx,
  workerIds: readonly string[],
): Promise<{ workerId: string; consentVersion: number }[]> {
  return tx.rows(sql`
    select id as "workerId", consent_version as "consentVersion" from workers
    where id = any(${workerIds}::uuid[]) order by id for no key update`)
}

/** Those of them whom no other transaction holds, under their locks. */
export async function lockFreeWorkers(tx: Tx, workerIds: readonly string[]): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select id as "workerId" from workers
    where id = any(${workerIds}::uuid[]) order by id for no key update skip locked`)
  return rows.map(({ workerId }) => workerId)
}

interface PersonFactsRow {
  workerId: string
  username: string
  onboarded: boolean
  granted: Permission[] | null
  identityState: StoredIdentity['state'] | null
  verifiedUntil: Date | null
}

/** Of those who have a profile. Under the workers' locks, what is found stays so until the transaction ends. */
export async function findPersonFacts(
  db: Queryable,
  workerIds: readonly string[],
): Promise<PersonFacts[]> {
  const rows = await db.rows<PersonFactsRow>(sql`
    select w.id as "workerId", p.username, w.onboarded_at is not null as onboarded,
      (select array_agg(c.permission) from consents c
        where c.worker_id = w.id and c.granted) as granted,
      i.state as "identityState", i.verified_until as "verifiedUntil"
    from workers w join profiles p on p.worker_id = w.id
    left join identities i on i.worker_id = w.id
    where w.id = any(${workerIds}::uuid[])`)
  return rows.map(({ workerId, username, onboarded, granted, identityState, verifiedUntil }) => ({
    workerId,
    username,
    onboarded,
    consents: {
      public_profile: granted?.includes('public_profile') ?? false,
      search_listing: granted?.includes('search_listing') ?? false,
      score_sharing: granted?.includes('score_sharing') ?? false,
    },
    identity: identityState === null ? null : { state: identityState, verifiedUntil },
  }))
}

/** As `lockWorkers`, for who has one of the names now. */
export async function lockPeople(tx: Tx, names: Names): Promise<void> {
  const { workerIds = [], externalIds = [], usernames = [] } = names
  await tx.run(sql`
    select from workers
    where id in (select unnest(${workerIds}::uuid[])
      union all select id from workers where external_id = any(${externalIds}::text[])
      union all select worker_id from profiles where username = any(${usernames}::text[]))
    order by id for no key update`)
}

export async function findWorkerId(db: Queryable, username: string): Promise<string | null> {
  const [row] = await db.rows<{ workerId: string }>(sql`
    select worker_id as "workerId" from profiles where username = ${username}`)
  return row?.workerId ?? null
}

export interface NewWorker {
  workerId: string
  externalId: string | null
}

/** Gives the ids of those whose external id nobody had. */
export async function insertWorkers(
  tx: Tx,
  workers: readonly NewWorker[],
  at: Date,
): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    insert into workers (id, external_id, registered_at)
    select id, external_id, ${at}
    from unnest(${workers.map((worker) => worker.workerId)}::uuid[],
      ${workers.map((worker) => worker.externalId)}::text[]) as new(id, external_id)
    order by external_id
    on conflict (external_id) do nothing
    returning id`)
  return rows.map((row) => row.id)
}

/** Of this transaction, and without anything else yet. */
export async function forgetNewWorkers(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`delete from workers where id = any(${workerIds}::uuid[])`)
}

export interface TakenName {
  workerId: string
  username: string
}

/** Takes usernames for ever, and gives the ids of those whose name it is now: nobody had it, or they themselves had it before. */
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

export interface WorkerProfile {
  workerId: string
  profile: Profile
}

/** Writes whole profiles, of people who have none as of people who have one. */
export async function writeProfiles(
  tx: Tx,
  people: readonly WorkerProfile[],
  at: Date,
): Promise<void> {
  const column = <Name extends keyof Profile>(name: Name) => people.map((p) => p.profile[name])
  const workerIds = people.map((person) => person.workerId)
  await tx.run(sql`
    insert into profiles (worker_id, username, username_sha256, display_name, title, bio,
      avatar_url, member_since, updated_at)
    select worker_id, username, digest, display_name, title, bio, avatar_url, member_since, ${at}
    from unnest(${workerIds}::uuid[], ${column('username')}::text[],
      ${people.map(({ profile }) => usernameDigest(profile.username))}::bytea[],
      ${column('displayName')}::text[], ${column('title')}::text[], ${column('bio')}::text[],
      ${column('avatarUrl')}::text[], ${column('memberSince')}::text[])
      as new(worker_id, username, digest, display_name, title, bio, avatar_url, member_since)
    on conflict (worker_id) do update set username = excluded.username,
      username_sha256 = excluded.username_sha256, display_name = excluded.display_name,
      title = excluded.title, bio = excluded.bio, avatar_url = excluded.avatar_url,
      member_since = excluded.member_since, updated_at = excluded.updated_at`)
}

/** Replaces all skills shown of these people. */
export async function writeSkills(
  tx: Tx,
  people: readonly { workerId: string; skills: readonly ProfileSkill[] }[],
): Promise<void> {
  const rows = people.flatMap(({ workerId, skills }) =>
    skills.map((skill, i) => ({ workerId, ...skill, place: i + 1 })),
  )
  await tx.run(sql`
    delete from profile_skills
    where worker_id = any(${people.map((person) => person.workerId)}::uuid[])`)
  if (rows.length === 0) return
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((r) => r[name])
  await tx.run(sql`
    insert into profile_skills (worker_id, name, verified, level, place)
    select * from unnest(${column('workerId')}::uuid[], ${column('name')}::text[],
      ${column('verified')}::boolean[], ${column('level')}::text[], ${column('place')}::smallint[])`)
}

export interface Acceptance {
  workerId: string
  version: string
  acceptedAt: Date
}

/** The latest terms accepted stand; says for whom something changed. */
export async function writeTerms(tx: Tx, accepted: readonly Acceptance[]): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    update workers w set terms_version = new.version, terms_accepted_at = new.accepted_at
    from unnest(${accepted.map((a) => a.workerId)}::uuid[], ${accepted.map((a) => a.version)}::text[],
      ${accepted.map((a) => a.acceptedAt)}::timestamptz[]) as new(worker_id, version, accepted_at)
    where w.id = new.worker_id
      and (w.terms_accepted_at is null or w.terms_accepted_at < new.accepted_at)
    returning w.id`)
  return rows.map((row) => row.id)
}

/** Onboarded once, when name, terms and the consent to a public profile are all there; gives those who are from now on. */
export async function completeOnboarding(
  tx: Tx,
  workerIds: readonly string[],
  at: Date,
): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    update workers w set onboarded_at = ${at}
    where w.id = any(${workerIds}::uuid[]) and w.onboarded_at is null
      and w.terms_accepted_at is not null
      and exists (select from profiles p where p.worker_id = w.id)
      and exists (select from consents c where c.worker_id = w.id
        and c.permission = 'public_profile' and c.granted)
    returning w.id`)
  return rows.map((row) => row.id)
}

export interface ConsentRow extends Consent {
  workerId: string
  permission: Permission
}

export function findConsents(db: Queryable, workerIds: readonly string[]): Promise<ConsentRow[]> {
  return db.rows<ConsentRow>(sql`
    select worker_id as "workerId", permission, granted, text_version as "textVersion",
      consent_version as "consentVersion"
    from consents where worker_id = any(${workerIds}::uuid[])`)
}

export interface ConsentChange extends ConsentRow {
  /** Null where the person had never granted it. */
  previousGranted: boolean | null
}

/** Records changes, in ascending versions of each worker, and makes them what holds. */
export async function insertConsentChanges(
  tx: Tx,
  changes: readonly ConsentChange[],
  { by, at }: { by: string; at: Date },
): Promise<void> {
  const column = <Name extends keyof ConsentChange>(name: Name) => changes.map((c) => c[name])
  const workerIds = column('workerId')
  const versions = column('consentVersion')
  await tx.run(sql`
    insert into consent_changes (worker_id, consent_version, permission, granted, previous_granted,
      text_version, actor, effective_at)
    select *, ${by}, ${at} from unnest(${workerIds}::uuid[], ${versions}::int[],
      ${column('permission')}::text[], ${column('granted')}::boolean[],
      ${column('previousGranted')}::boolean[], ${column('textVersion')}::text[])`)
  await tx.run(sql`
    insert into consents (worker_id, consent_version, permission, granted, text_version)
    select * from unnest(${workerIds}::uuid[], ${versions}::int[], ${column('permission')}::text[],
      ${column('granted')}::boolean[], ${column('textVersion')}::text[])
    on conflict (worker_id, permission) do update set granted = excluded.granted,
      text_version = excluded.text_version, consent_version = excluded.consent_version`)
  await tx.run(sql`
    update workers w set consent_version = new.version
    from (select worker_id, max(version) as version
      from unnest(${workerIds}::uuid[], ${versions}::int[]) as each(worker_id, version)
      group by worker_id) new
    where w.id = new.worker_id`)
}

export interface IdentityRow extends StoredIdentity {
  workerId: string
  /** Counts the changes of this worker, from 1. */
  change: number
}

export function findIdentities(
  db: Queryable,
  workerIds: readonly string[],
): Promise<IdentityRow[]> {
  return db.rows<IdentityRow>(sql`
    select worker_id as "workerId", state, verified_until as "verifiedUntil", change
    from identities where worker_id = any(${workerIds}::uuid[])`)
}

/** Records changes, the last of each worker being the state from now on. */
export async function insertIdentityChanges(
  tx: Tx,
  changes: readonly IdentityRow[],
  { by, at }: { by: string; at: Date },
): Promise<void> {
  const column = <Name extends keyof IdentityRow>(name: Name) => changes.map((c) => c[name])
  await tx.run(sql`
    insert into identity_changes (worker_id, change, state, verified_until, actor, changed_at)
    select *, ${by}, ${at} from unnest(${column('workerId')}::uuid[], ${column('change')}::int[],
      ${column('state')}::text[], ${column('verifiedUntil')}::timestamptz[])`)
  const last = [...new Map(changes.map((change) => [change.workerId, change])).values()]
  await tx.run(sql`
    insert into identities (worker_id, state, verified_until, change)
    select * from unnest(${last.map((c) => c.workerId)}::uuid[], ${last.map((c) => c.state)}::text[],
      ${last.map((c) => c.verifiedUntil)}::timestamptz[], ${last.map((c) => c.change)}::int[])
    on conflict (worker_id) do update set state = excluded.state,
      verified_until = excluded.verified_until, change = excluded.change`)
}
