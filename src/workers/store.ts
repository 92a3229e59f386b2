/**
 * SQL of the table `workers`, and reads of a worker across the tables of the module.
 * `edit-profile.ts`, `consent-store.ts` and `identity.ts` write the other tables.
 */
import { uuidForm } from '../edge/http/fields.ts'
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { Consent } from './consent-store.ts'
import type { WorkerFacts } from './gate.ts'
import type { StoredIdentity } from './identity-state.ts'
import type { Profile } from './profile.ts'
import type { Permission } from './schema.ts'

export interface Worker {
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

interface WorkerRow extends Omit<Worker, 'profile' | 'consents' | 'identity'>, Profile {
  consents: Partial<Record<Permission, Consent>> | null
  identityState: StoredIdentity['state'] | null
  verifiedUntil: Date | null
}

/** Each list is optional. */
interface Names {
  workerIds?: readonly string[]
  externalIds?: readonly string[]
  usernames?: readonly string[]
}

/** Returns every worker that has one of the names now. */
export async function findWorkers(db: Queryable, names: Names): Promise<Worker[]> {
  const { workerIds = [], externalIds = [], usernames = [] } = names
  const rows = await db.rows<WorkerRow>(sql`
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
  return rows.map(workerOf)
}

function workerOf(row: WorkerRow): Worker {
  const { identityState, verifiedUntil, consents, ...rest } = row
  const { username, displayName, title, bio, avatarUrl, memberSince, skills, ...worker } = rest
  return {
    ...worker,
    profile: { username, displayName, title, bio, avatarUrl, memberSince, skills },
    consents: consents ?? {},
    identity: identityState === null ? null : { state: identityState, verifiedUntil },
  }
}

export interface WorkerFilter {
  /** Only workers whose score is not public. */
  hidden: boolean
  /** The last id of the page before, or null for the first page. */
  after: string | null
  limit: number
  now: Date
}

/** Returns the ids of workers, the latest registered first. */
export async function findWorkerPage(
  db: Queryable,
  { hidden, after, limit, now }: WorkerFilter,
): Promise<string[]> {
  const rows = await db.rows<{ workerId: string }>(sql`
    select p.worker_id as "workerId" from profiles p
    where (${after}::uuid is null or p.worker_id < ${after})
      and (not ${hidden} or not exists (select from readable_scores r
        where r.worker_id = p.worker_id and r.verified_until > ${now}))
    order by p.worker_id desc limit ${limit}`)
  return rows.map(({ workerId }) => workerId)
}

/**
 * Returns the ids of the workers whose username or name begins with the text, or whose external id
 * is the text, in the way of `findWorkerPage`.
 */
export async function findWorkersLike(
  db: Queryable,
  text: string,
  { hidden, after, limit, now }: WorkerFilter,
): Promise<string[]> {
  const rows = await db.rows<{ workerId: string }>(sql`
    with found as (
      select worker_id from profiles
      where username >= ${text} and username < ${text}::text || chr(1114111)
      union
      select worker_id from profiles
      where lower(display_name) collate "C" >= lower(${text})
        and lower(display_name) collate "C" < lower(${text}) || chr(1114111)
      union
      select p.worker_id from workers w join profiles p on p.worker_id = w.id
      where w.external_id = ${text}
      union
      select worker_id from profiles where worker_id = ${uuidForm.test(text) ? text : null}::uuid
    )
    select f.worker_id as "workerId" from found f
    where (${after}::uuid is null or f.worker_id < ${after})
      and (not ${hidden} or not exists (select from readable_scores r
        where r.worker_id = f.worker_id and r.verified_until > ${now}))
    order by f.worker_id desc limit ${limit}`)
  return rows.map(({ workerId }) => workerId)
}

/**
 * Locks worker rows. Every change of a worker takes this lock first, so changes of one worker, and
 * their events, have one order. Rows are locked in order of id, so that two bulk changes wait for
 * each other and do not deadlock.
 *
 * Returns the state that a change needs. If the lock waited for an erasure, the row still exists
 * with `isErased`.
 */
export function lockWorkers(
  tx: Tx,
  workerIds: readonly string[],
): Promise<{ workerId: string; consentVersion: number; isErased: boolean }[]> {
  return tx.rows(sql`
    select id as "workerId", consent_version as "consentVersion", erased_at is not null as "isErased"
    from workers
    where id = any(${workerIds}::uuid[]) order by id for no key update`)
}

/** Locks one worker and returns whether it exists and is not erased. */
export async function lockWorker(tx: Tx, workerId: string): Promise<boolean> {
  const [locked] = await lockWorkers(tx, [workerId])
  return locked !== undefined && !locked.isErased
}

/** Locks the workers that no other transaction holds, without waiting, and returns their ids. */
export async function tryLockWorkers(tx: Tx, workerIds: readonly string[]): Promise<string[]> {
  const rows = await tx.rows<{ workerId: string }>(sql`
    select id as "workerId" from workers
    where id = any(${workerIds}::uuid[]) order by id for no key update skip locked`)
  return rows.map(({ workerId }) => workerId)
}

interface WorkerFactsRow {
  workerId: string
  username: string
  onboarded: boolean
  granted: Permission[] | null
  identityState: StoredIdentity['state'] | null
  verifiedUntil: Date | null
}

/**
 * Returns the facts of the workers that have a profile. Under the workers' locks they stay true
 * until the transaction ends.
 */
export async function findWorkerFacts(
  db: Queryable,
  workerIds: readonly string[],
): Promise<WorkerFacts[]> {
  const rows = await db.rows<WorkerFactsRow>(sql`
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

/** Locks every worker that has one of the names now, in the order of `lockWorkers`. */
export async function lockWorkersByName(tx: Tx, names: Names): Promise<void> {
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

export interface NewWorker
  extends Pick<
    Worker,
    | 'workerId'
    | 'externalId'
    | 'termsVersion'
    | 'termsAcceptedAt'
    | 'onboardedAt'
    | 'consentVersion'
  > {}

/**
 * Inserts workers and returns the ids of the inserted rows. A worker whose external id is taken is
 * left out.
 */
export async function insertWorkers(
  tx: Tx,
  workers: readonly NewWorker[],
  at: Date,
): Promise<string[]> {
  const column = <Name extends keyof NewWorker>(name: Name) => workers.map((w) => w[name])
  const rows = await tx.rows<{ id: string }>(sql`
    insert into workers (id, external_id, terms_version, terms_accepted_at, onboarded_at,
      consent_version, registered_at)
    select *, ${at} from unnest(${column('workerId')}::uuid[], ${column('externalId')}::text[],
      ${column('termsVersion')}::text[], ${column('termsAcceptedAt')}::timestamptz[],
      ${column('onboardedAt')}::timestamptz[], ${column('consentVersion')}::int[])
      as new(id, external_id)
    order by external_id
    on conflict (external_id) do nothing
    returning id`)
  return rows.map((row) => row.id)
}

/** Deletes workers that this transaction inserted and that no other table refers to yet. */
export async function deleteNewWorkers(tx: Tx, workerIds: readonly string[]): Promise<void> {
  await tx.run(sql`delete from workers where id = any(${workerIds}::uuid[])`)
}

export interface Acceptance {
  workerId: string
  version: string
  acceptedAt: Date
}

/** Stores accepted terms unless later ones are stored. Returns the ids of the changed workers. */
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

/**
 * Onboards each worker that has a name, accepted terms and the consent to a public profile. Returns
 * the ids of the workers onboarded by this call.
 */
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
