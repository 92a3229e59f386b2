/**
 * Authenticates API keys, and tokens of the operator's own systems (decision D60). Each request
 * looks its key or token up in the database, so every node rejects a revoked one on the next request
 * (decision D15). The look-ups of keys of one turn of the event loop share a statement.
 *
 * Tables: reads `api_keys`. Owns `operator_tokens`. Writes `api_key_uses` in `recordUses`, every
 * half minute.
 * Crash: at most half a minute of uses is lost.
 */
import type {
  Authenticate,
  AuthenticateOperator,
  ExpectKey,
  FindEndedKey,
} from '../../edge/http/admission.ts'
import type { OperatorCaller, OperatorRole, PresentedKey } from '../../edge/http/callers.ts'
import { batched } from '../../platform/batching.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Db, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { RecentMap } from '../../platform/recent-map.ts'
import { bearerKey, bearerToken, isAllowedFrom, keyDigest } from './api-key.ts'
import {
  findEndedKey,
  findValidKeys,
  type StoredKey,
  updateKeyUses,
  type ValidKey,
} from './store.ts'

interface KeyAuthenticator {
  authenticate: Authenticate
  expectedKey: ExpectKey
  endedKey: FindEndedKey
  /** Writes the last use of each key since the last call. */
  recordUses(): Promise<void>
}

/** Keys to remember. */
const lastValidMax = 10_000

interface KeyAuthenticatorOptions {
  db: Db
  clock: Clock
}

export function openKeyAuthenticator({ db, clock }: KeyAuthenticatorOptions): KeyAuthenticator {
  let uses = new Map<string, Date>()
  /** By digest: what the last look-up returned. */
  const lastValid = new RecentMap<ValidKey>(lastValidMax)
  const lookUp = batched<string, ValidKey | undefined>({
    name: 'API keys',
    run: (digests) => findEach(db, digests, clock()),
    deadline: 'databaseAnswer',
  })
  return {
    async authenticate(authorization, address) {
      const key = bearerKey(authorization)
      if (key === null) return null
      const digest = keyDigest(key).toString('hex')
      // During an outage no call begins that could only be refused.
      const row = await lookUp(digest).catch((error: unknown) => {
        lastValid.delete(digest)
        throw error
      })
      if (row === undefined) lastValid.delete(digest)
      else lastValid.set(digest, row)
      if (row === undefined || !isAllowedFrom(row.allowedFrom, address)) return null
      uses.set(row.id, clock())
      return presentedKey(row)
    },

    expectedKey(authorization, address) {
      const key = bearerKey(authorization)
      const row = key === null ? undefined : lastValid.get(keyDigest(key).toString('hex'))
      return row !== undefined && isAllowedFrom(row.allowedFrom, address) ? presentedKey(row) : null
    },

    async endedKey(authorization) {
      const key = bearerKey(authorization)
      const found = key === null ? undefined : await findEndedKey(db, keyDigest(key), clock())
      if (found === undefined) return null
      const { id, accountId, endedAt, successorId } = found
      return { accountId, keyId: id, cause: { endedAt: endedAt.toISOString(), successorId } }
    },

    async recordUses() {
      if (uses.size === 0) return
      const recorded = uses
      uses = new Map()
      try {
        await updateKeyUses(db, recorded)
      } catch (error) {
        // Uses recorded since then are newer.
        uses = new Map([...recorded, ...uses])
        throw error
      }
    },
  }
}

/**
 * Looks up all presented keys in one statement. Concurrent calls with the same key share one index
 * probe.
 */
async function findEach(
  db: Db,
  digests: readonly string[],
  now: Date,
): Promise<(ValidKey | undefined)[]> {
  const rows = await findValidKeys(db, [...new Set(digests)], now)
  const byDigest = new Map(rows.map((key) => [key.digest, key]))
  return digests.map((digest) => byDigest.get(digest))
}

/** Returns the key as the HTTP layer sees it. */
export function presentedKey(validKey: ValidKey): PresentedKey {
  const { id, accountId, environment, scopes, balance, suspended } = validKey
  return {
    caller: { kind: 'key', keyId: id, accountId, environment },
    scopes,
    credits: { balance, suspended },
  }
}

export function operatorAuthenticator({
  db,
  clock,
}: {
  db: Db
  clock: Clock
}): AuthenticateOperator {
  return async (authorization, address = '') => {
    const token = bearerToken(authorization)
    return token === null
      ? null
      : findValidToken(db, { digest: keyDigest(token), address, now: clock() })
  }
}

/** Returns the valid token, and records its use once a minute. */
async function findValidToken(
  db: Queryable,
  { digest, address, now }: { digest: Buffer; address: string; now: Date },
): Promise<OperatorCaller | null> {
  const [row] = await db.rows<Omit<OperatorCaller, 'kind'>>(sql`
    with valid as (
      select id, name, role, last_used_at from operator_tokens
      where digest = ${digest} and revoked_at is null and expires_at > ${now}
        and (allowed_from is null or nullif(${address}, '')::inet <<= any(allowed_from))
    ), used as (
      update operator_tokens t set last_used_at = ${now} from valid v
      where t.id = v.id and (v.last_used_at is null or v.last_used_at < ${now}::timestamptz - interval '1 minute')
    )
    select id as "tokenId", name, role from valid`)
  return row === undefined ? null : { kind: 'operator', ...row }
}

interface StoredToken
  extends Pick<
    StoredKey,
    'id' | 'name' | 'shown' | 'allowedFrom' | 'createdAt' | 'revokedAt' | 'lastUsedAt'
  > {
  role: OperatorRole
  expiresAt: Date
}

export async function insertToken(
  tx: Tx,
  { id, name, role, shown, allowedFrom, createdAt, expiresAt }: StoredToken,
  digest: Buffer,
): Promise<void> {
  await tx.run(sql`
    insert into operator_tokens
      (id, name, role, digest, shown, allowed_from, created_at, expires_at)
    values (${id}, ${name}, ${role}, ${digest}, ${shown}, ${allowedFrom}::cidr[], ${createdAt},
      ${expiresAt})`)
}

/** Returns tokens, the newest first. `id`: only this one. */
export function findTokens(
  db: Queryable,
  { id = null, after = null, limit }: { id?: string | null; after?: string | null; limit: number },
): Promise<StoredToken[]> {
  return db.rows<StoredToken>(sql`
    select id, name, role, shown, allowed_from::text[] as "allowedFrom",
      created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
      last_used_at as "lastUsedAt"
    from operator_tokens
    where (${id}::uuid is null or id = ${id}::uuid) and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc limit ${limit}`)
}

/** Revokes the token. Returns false if it was revoked before. */
export async function revokeToken(tx: Tx, id: string, now: Date): Promise<boolean> {
  const count = await tx.run(sql`
    update operator_tokens set revoked_at = ${now} where id = ${id} and revoked_at is null`)
  return count === 1
}
