/**
 * SQL of webhook_endpoints and webhook_secrets for owners and the key ring. The SQL of deliveries
 * is in delivery/endpoint-store.ts.
 */
import { type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import {
  beforeEveryClock,
  type EndpointOwner,
  type EndpointState,
  insertSecret,
  ownerId,
} from '../delivery/endpoint-store.ts'
import type { SealedSecret, SecretId } from '../delivery/secret.ts'
import type { EventType } from '../events/event-types.ts'

export interface EndpointRow extends Omit<EndpointState, 'eventTypes' | 'pausedAt' | 'testedAt'> {
  description: string | null
  eventTypes: EventType[]
  /** Prefix of the secret that signs now. */
  secretPrefix: string
  updatedAt: Date
  /** Maximum of deliveries a second, or null for no limit. */
  perSecond: number | null
}

/** Returns the endpoints, oldest first. Unknown ids are left out. */
export function findEndpoints(
  db: Queryable,
  ids: readonly string[],
  now: Date,
): Promise<EndpointRow[]> {
  return db.rows<EndpointRow>(sql`
    select n.id, n.user_id as "userId", n.url, n.description, n.event_types as "eventTypes",
      s.prefix as "secretPrefix", n.created_at as "createdAt", n.updated_at as "updatedAt",
      n.disabled_at as "disabledAt", n.disabled_reason as "disabledReason",
      n.rate_per_second as "perSecond"
    from webhook_endpoints n cross join lateral (
      select prefix from webhook_secrets s
      where s.endpoint_id = n.id and s.signs_from <= ${now}
        and (s.ends_at is null or s.ends_at > ${now})
      order by s.signs_from desc, s.version desc limit 1
    ) s
    where n.id = any(${ids}::uuid[])
    order by n.created_at, n.id`)
}

export async function findActiveIds(db: Queryable, userId: string): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select id from webhook_endpoints where user_id = ${userId} and disabled_at is null`)
  return rows.map(({ id }) => id)
}

/** Returns the ids of all endpoints of a user, also of disabled ones. */
export async function findIdsOf(db: Queryable, userId: string): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select id from webhook_endpoints where user_id = ${userId}`)
  return rows.map(({ id }) => id)
}

export interface EndpointPage {
  owner: EndpointOwner
  /** Disabled endpoints as well. */
  disabledToo: boolean
  /** The id of the last row of the page before, or null for the first page. */
  after: string | null
  limit: number
}

/** Returns the ids of endpoints, the newest first. */
export async function findNewestIds(
  db: Queryable,
  { owner, disabledToo, after, limit }: EndpointPage,
): Promise<string[]> {
  const userId = ownerId(owner)
  const rows = await db.rows<{ id: string }>(sql`
    select id from webhook_endpoints
    where (disabled_at is null or ${disabledToo}::boolean)
      and (${userId}::uuid is null or user_id = ${userId}::uuid)
      and (${after}::uuid is null or (created_at, id) < (
        select created_at, id from webhook_endpoints where id = ${after}::uuid))
    order by created_at desc, id desc limit ${limit}`)
  return rows.map(({ id }) => id)
}

export interface KeyedCreation {
  endpointId: string
  fingerprint: Buffer
  /** Version 1, which the creation returned. */
  secret: SealedSecret
}

/** Returns the endpoint that the user created with this Idempotency-Key. */
export async function findKeyedCreation(
  db: Queryable,
  { userId, idempotencyKey }: { userId: string; idempotencyKey: string },
): Promise<KeyedCreation | undefined> {
  const [row] = await db.rows<Omit<KeyedCreation, 'secret'> & SealedSecret>(sql`
    select n.id as "endpointId", n.fingerprint, s.kid, s.sealed
    from webhook_endpoints n
    join webhook_secrets s on s.endpoint_id = n.id and s.version = 1
    where n.user_id = ${userId} and n.idempotency_key = ${idempotencyKey}`)
  if (row === undefined) return undefined
  const { endpointId, fingerprint, kid, sealed } = row
  return { endpointId, fingerprint, secret: { kid, sealed } }
}

/**
 * Makes the creations of one user take turns until the transaction ends. The next one sees the rows
 * that the previous one committed.
 */
export async function lockCreation(tx: Tx, userId: string): Promise<void> {
  await tx.run(
    sql`select pg_advisory_xact_lock(hashtextextended('webhook endpoints of ' || ${userId}::text, 0))`,
  )
}

export async function countActiveEndpoints(tx: Tx, userId: string): Promise<number> {
  const [row] = await tx.rows<{ count: number }>(sql`
    select count(*)::int as count from webhook_endpoints
    where user_id = ${userId} and disabled_at is null`)
  return row?.count ?? 0
}

export interface NewEndpoint extends EndpointRow {
  idempotencyKey: string | null
  fingerprint: Buffer | null
  secret: SealedSecret
}

/** Inserts the endpoint and version 1 of its secret, which signs at once. */
export async function insertEndpoint(tx: Tx, row: NewEndpoint): Promise<void> {
  await tx.run(sql`
    insert into webhook_endpoints (id, user_id, url, description, event_types, created_at,
      updated_at, idempotency_key, fingerprint)
    values (${row.id}, ${row.userId}, ${row.url}, ${row.description}, ${row.eventTypes}::text[],
      ${row.createdAt}, ${row.updatedAt}, ${row.idempotencyKey}, ${row.fingerprint})`)
  await insertSecret(tx, {
    endpointId: row.id,
    version: 1,
    prefix: row.secretPrefix,
    ...row.secret,
    signsFrom: beforeEveryClock,
  })
}

export type SealedRow = SecretId & SealedSecret

/** Returns one secret of each key that encrypts secrets. */
export function findSealedSamples(db: Queryable): Promise<SealedRow[]> {
  return db.rows<SealedRow>(sql`
    select distinct on (kid) endpoint_id as "endpointId", version, kid, sealed from webhook_secrets
    order by kid, endpoint_id, version`)
}

/** Locks secrets that a key other than `kid` encrypts, until the transaction ends. */
export function lockSecretsOfOtherKeys(tx: Tx, kid: string, limit: number): Promise<SealedRow[]> {
  return tx.rows<SealedRow>(sql`
    select endpoint_id as "endpointId", version, kid, sealed from webhook_secrets
    where kid <> ${kid} order by endpoint_id, version limit ${limit} for update`)
}

export async function updateSealed(tx: Tx, rows: readonly SealedRow[]): Promise<void> {
  const column = <Name extends keyof SealedRow>(name: Name) => rows.map((row) => row[name])
  await tx.run(sql`
    update webhook_secrets s set kid = new.kid, sealed = new.sealed
    from unnest(${column('endpointId')}::uuid[], ${column('version')}::int[],
      ${column('kid')}::text[], ${column('sealed')}::bytea[]) as new(endpoint_id, version, kid, sealed)
    where s.endpoint_id = new.endpoint_id and s.version = new.version`)
}

/**
 * Deletes endpoints with their secrets and Idempotency-Keys. Their deliveries ended earlier and are
 * therefore deleted already.
 */
export async function deleteDisabledEndpoints(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const [row] = await db.rows<{ count: number }>(sql`
    with old as materialized (
      select n.id from webhook_endpoints n
      where n.disabled_at < ${before}
      order by n.id limit ${limit} for update skip locked
    ), unsealed as (
      delete from webhook_secrets s using old where s.endpoint_id = old.id
    ), deleted as (
      delete from webhook_endpoints n using old where n.id = old.id
      returning n.id
    )
    select count(*)::int as count from deleted`)
  return row?.count ?? 0
}
