/**
 * Tokens of the operator's own systems (decision D60). Each request looks its token up, so every
 * node rejects a revoked token on the next request.
 *
 * SQL of the table `operator_tokens`.
 */
import type { AuthenticateOperator } from '../../edge/http/admission.ts'
import type { OperatorCaller, OperatorRole } from '../../edge/http/callers.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Db, type Queryable, sql, type Tx } from '../../platform/db/db.ts'
import { bearerToken, keyDigest } from './api-key.ts'
import type { StoredKey } from './store.ts'

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
