/** SQL of webhook_endpoints and webhook_secrets for delivery. */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import type { SealedSecret } from './secret.ts'

export type DisabledReason = 'owner' | 'operator' | 'gone' | 'failing'

export interface SecretRow extends SealedSecret {
  endpointId: string
  version: number
  signsFrom: Date
  endsAt: Date | null
}

/** Returns the secrets that sign at `now` or later, oldest first for each endpoint. */
export function findSecrets(
  db: Queryable,
  endpointIds: readonly string[],
  now: Date,
): Promise<SecretRow[]> {
  return db.rows<SecretRow>(sql`
    select endpoint_id as "endpointId", version, kid, sealed, signs_from as "signsFrom",
      ends_at as "endsAt"
    from webhook_secrets
    where endpoint_id = any(${endpointIds}::uuid[]) and (ends_at is null or ends_at > ${now})
    order by endpoint_id, version`)
}

export interface NewSecretRow extends SealedSecret {
  endpointId: string
  version: number
  prefix: string
  signsFrom: Date
  /** The secret replaces a leaked one. */
  isReplacement?: boolean
}

export async function insertSecret(tx: Tx, row: NewSecretRow): Promise<void> {
  await tx.run(sql`
    insert into webhook_secrets (endpoint_id, version, prefix, sealed, kid, signs_from,
      replacement_at)
    values (${row.endpointId}, ${row.version}, ${row.prefix}, ${row.sealed}, ${row.kid},
      ${row.signsFrom}, case when ${row.isReplacement ?? false}::boolean then clock_timestamp() end)`)
}

export interface NewestSecret {
  version: number
  /** It was made less than a minute ago to replace a leaked one. */
  isFreshReplacement: boolean
}

/** Returns the endpoint's newest secret, or undefined if it has none. */
export async function findNewestSecret(
  db: Queryable,
  endpointId: string,
): Promise<NewestSecret | undefined> {
  const [row] = await db.rows<NewestSecret>(sql`
    select version,
      coalesce(replacement_at > clock_timestamp() - interval '1 minute', false)
        as "isFreshReplacement"
    from webhook_secrets where endpoint_id = ${endpointId}::uuid
    order by version desc limit 1`)
  return row
}

/**
 * Marks a check of the DNS, and returns the URL to check. `isEarly`: the last check was less than a
 * minute ago, so nothing was marked. Returns undefined for an unknown endpoint.
 */
export async function markDnsCheck(
  db: Queryable,
  { endpointId, owner }: EndpointOf,
  now: Date,
): Promise<{ url: string; isEarly: boolean } | undefined> {
  const userId = ownerId(owner)
  const [row] = await db.rows<{ url: string; isEarly: boolean }>(sql`
    with known as (
      select id, url from webhook_endpoints
      where id = ${endpointId}::uuid and (${userId}::uuid is null or user_id = ${userId}::uuid)
    ), marked as (
      update webhook_endpoints n set dns_checked_at = ${now} from known k
      where n.id = k.id and (n.dns_checked_at is null
        or n.dns_checked_at <= ${now}::timestamptz - interval '1 minute')
      returning n.id
    )
    select url, not exists (select from marked) as "isEarly" from known`)
  return row
}

/**
 * A time before the clock of every process. A secret that begins or ends then does so at the
 * commit, also for a process whose clock is behind.
 */
export const beforeEveryClock = new Date(0)

/** Ends every secret of the endpoint that is older than `newest`, announced ones included. */
export async function dropOlderSecrets(
  tx: Tx,
  { endpointId, newest }: { endpointId: string; newest: number },
): Promise<void> {
  await tx.run(sql`
    update webhook_secrets set ends_at = ${beforeEveryClock}
    where endpoint_id = ${endpointId}::uuid and version < ${newest}::int`)
}

/**
 * Changes the time from which the newest secret signs, and the time until which the previous one
 * signs beside it.
 */
export async function moveSecrets(
  tx: Tx,
  { endpointId, newest, at, overlapEndsAt }: MovedSecrets,
): Promise<void> {
  await tx.run(sql`
    update webhook_secrets
    set signs_from = case when version = ${newest}::int then ${at}::timestamptz else signs_from end,
      ends_at = case when version < ${newest}::int
        then least(ends_at, ${overlapEndsAt}::timestamptz) end
    where endpoint_id = ${endpointId}::uuid`)
}

interface MovedSecrets {
  endpointId: string
  newest: number
  at: Date
  overlapEndsAt: Date
}

export interface EndpointState {
  id: string
  userId: string
  url: string
  eventTypes: string[]
  createdAt: Date
  disabledAt: Date | null
  disabledReason: DisabledReason | null
  pausedAt: Date | null
  testedAt: Date | null
}

/** The account that must own an endpoint. `any` is for operators and jobs alone. */
export type EndpointOwner = { userId: string } | 'any'

/** An endpoint on behalf of a caller. */
export interface EndpointOf {
  endpointId: string
  owner: EndpointOwner
}

/** Returns the owner for a statement: null for any. */
export function ownerId(owner: EndpointOwner): string | null {
  return owner === 'any' ? null : owner.userId
}

/**
 * Locks the endpoint's row, so that a decision about it holds until the end of the transaction.
 * Another account's endpoint and an unknown one give the same result.
 */
export async function lockEndpoint(
  tx: Tx,
  { endpointId, owner }: EndpointOf,
): Promise<EndpointState | undefined> {
  const userId = ownerId(owner)
  const [row] = await tx.rows<EndpointState>(sql`
    select id, user_id as "userId", url, event_types as "eventTypes", created_at as "createdAt",
      disabled_at as "disabledAt", disabled_reason as "disabledReason", paused_at as "pausedAt",
      tested_at as "testedAt"
    from webhook_endpoints
    where id = ${endpointId}::uuid and (${userId}::uuid is null or user_id = ${userId}::uuid)
    for no key update`)
  return row
}

export async function setDisabled(
  tx: Tx,
  ids: readonly string[],
  { reason, at }: { reason: DisabledReason; at: Date },
): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    update webhook_endpoints set disabled_at = ${at}, disabled_reason = ${reason}, updated_at = ${at}
    where id = any(${ids}::uuid[]) and disabled_at is null
    returning id`)
  return rows.map(({ id }) => id)
}

/** Enables an endpoint and clears its failures. */
export async function setEnabled(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`
    update webhook_endpoints
    set disabled_at = null, disabled_reason = null, paused_at = null, parked_until = null,
      failing_since = null, consecutive_failures = 0, warned_hours = 0, concurrency = 4,
      updated_at = ${at}
    where id = ${id}::uuid`)
}

export async function setPaused(tx: Tx, id: string, pausedAt: Date | null): Promise<void> {
  await tx.run(sql`
    update webhook_endpoints set paused_at = ${pausedAt}::timestamptz where id = ${id}::uuid`)
}

export async function setTested(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(sql`update webhook_endpoints set tested_at = ${at} where id = ${id}::uuid`)
}

/** Returns the account of each endpoint, by the id of the endpoint. */
export async function findOwners(
  db: Queryable,
  endpointIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.rows<{ id: string; userId: string }>(sql`
    select id, user_id as "userId" from webhook_endpoints where id = any(${endpointIds}::uuid[])`)
  return new Map(rows.map(({ id, userId }) => [id, userId]))
}

export interface FailingEndpoint {
  id: string
  failingSince: Date
  lastFailureAt: Date
  consecutiveFailures: number
  /** Hours after which the operator got the last notice. */
  warnedHours: number
  /** Number of different events among the failures. */
  eventCount: number
}

/** Returns active endpoints without a success since `since`. */
export function findFailing(db: Queryable, since: Date): Promise<FailingEndpoint[]> {
  return db.rows<FailingEndpoint>(sql`
    select n.id, n.failing_since as "failingSince", n.last_failure_at as "lastFailureAt",
      n.consecutive_failures as "consecutiveFailures", n.warned_hours as "warnedHours",
      (select count(distinct event_id)::int from (
        select a.event_id from webhook_attempts a
        where a.endpoint_id = n.id and a.started_at >= n.failing_since and a.result = 'failed'
          and a.trigger <> 'test'
        limit 1000) as failed) as "eventCount"
    from webhook_endpoints n
    where n.disabled_at is null and n.failing_since <= ${since}
    order by n.id limit 1000`)
}

export interface Warning {
  id: string
  hours: number
}

/** Returns those warnings that no process had given before. */
export function setWarned(db: Queryable, warnings: readonly Warning[]): Promise<Warning[]> {
  return db.rows<Warning>(sql`
    update webhook_endpoints n set warned_hours = w.hours
    from unnest(${warnings.map(({ id }) => id)}::uuid[], ${warnings.map(({ hours }) => hours)}::smallint[])
      as w(id, hours)
    where n.id = w.id and n.warned_hours < w.hours
    returning n.id, w.hours`)
}

/** Counts the endpoints that fail now: of an account, or of all (null). */
export async function countFailingEndpoints(db: Queryable, userId: string | null): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    select count(*)::int as count from webhook_endpoints
    where (${userId}::uuid is null or user_id = ${userId}::uuid) and disabled_at is null
      and consecutive_failures >= 3`)
  return row?.count ?? 0
}

/** Returns whether deliveries to the endpoint fail now: its last ones failed without a success. */
export async function hasFailures(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.rows(sql`
    select 1 from webhook_endpoints where id = ${id}::uuid and failing_since is not null`)
  return rows.length > 0
}

export interface FailingNow {
  id: string
  url: string
  failingSince: Date
  consecutiveFailures: number
  lastSuccessAt: Date | null
  /**
   * Status of the last failed attempt, or null if there was no answer or the attempt is no longer
   * kept.
   */
  responseStatus: number | null
  errorCode: string | null
  /** Number of pending deliveries. */
  waiting: number
}

/**
 * Returns the failing endpoints of one owner. The endpoint that has failed longest comes first.
 * `after` is the id of the last row of the page before.
 */
export function findFailingNow(
  db: Queryable,
  { owner, limit, after = null }: { owner: EndpointOwner; limit: number; after?: string | null },
): Promise<FailingNow[]> {
  const userId = ownerId(owner)
  return db.rows<FailingNow>(sql`
    select n.id, n.url, n.failing_since as "failingSince",
      n.consecutive_failures as "consecutiveFailures", n.last_success_at as "lastSuccessAt",
      a.response_status as "responseStatus", a.error_code as "errorCode",
      (select count(*)::int from webhook_deliveries d
       where d.endpoint_id = n.id and d.status = 'pending') as waiting
    from webhook_endpoints n left join lateral (
      select response_status, error_code from webhook_attempts a
      where a.endpoint_id = n.id and a.result = 'failed'
      order by a.started_at desc, a.id desc limit 1
    ) a on true
    where n.disabled_at is null and n.consecutive_failures >= 3
      and (${userId}::uuid is null or n.user_id = ${userId}::uuid)
      and (${after}::uuid is null or (n.failing_since, n.id) > (
        select failing_since, id from webhook_endpoints where id = ${after}::uuid))
    order by n.failing_since, n.id limit ${limit}`)
}

export interface NoticedEndpoint {
  /** The account that owns the endpoint. */
  userId: string
  url: string
  /** Null: it fails. */
  disabledAt: Date | null
}

/**
 * Returns the endpoints that have failed for an hour and are still tried, and those that the service
 * has disabled in the last week.
 */
export function findNoticedEndpoints(db: Queryable, now: Date): Promise<NoticedEndpoint[]> {
  return db.rows<NoticedEndpoint>(sql`
    select user_id as "userId", url, disabled_at as "disabledAt" from webhook_endpoints
    where (disabled_at is null and paused_at is null and consecutive_failures >= 3
        and last_failure_at > ${now}::timestamptz - interval '24 hours'
        and failing_since <= ${now}::timestamptz - interval '1 hour')
      or (disabled_reason in ('gone', 'failing')
        and disabled_at > ${now}::timestamptz - interval '7 days')
    order by user_id, url`)
}
