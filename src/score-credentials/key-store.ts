/** All SQL of signing_keys. */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import type { KeyState, SigningKey } from './trust.ts'

export function findKeys(db: Queryable): Promise<SigningKey[]> {
  return db.rows<SigningKey>(sql`
    select kid, public_key as "publicKey", state, created_at as "createdAt",
      activated_at as "activatedAt", retired_at as "retiredAt", revoked_at as "revokedAt"
    from signing_keys order by created_at, kid`)
}

/** Keys are changed one at a time: every change first takes this lock, so that two rotations cannot interleave. */
export async function lockKeys(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('signing_keys'))`)
}

export async function insertKey(tx: Tx, key: SigningKey): Promise<void> {
  await tx.run(sql`
    insert into signing_keys (kid, public_key, state, created_at, activated_at)
    values (${key.kid}, ${key.publicKey}, ${key.state}, ${key.createdAt}, ${key.activatedAt})`)
}

/** Moves a key to `state` and stamps the move; says whether it was in one of `from`. */
export async function moveKey(
  tx: Tx,
  kid: string,
  move: { from: readonly KeyState[]; to: KeyState; at: Date },
): Promise<boolean> {
  const { from, to, at } = move
  const moved = await tx.run(sql`
    update signing_keys set state = ${to},
      activated_at = case when ${to} = 'active' then ${at} else activated_at end,
      retired_at = case when ${to} = 'retired' then ${at} else retired_at end,
      revoked_at = case when ${to} = 'revoked' then ${at} else revoked_at end
    where kid = ${kid} and state = any(${from}::text[])`)
  return moved === 1
}
