/**
 * Users with an operator role (decision D63). The look-up of a session reads the role, so every
 * node knows a withdrawn role on the next request.
 *
 * SQL of the table `operators`.
 */
import type { ConsoleRole } from '../edge/http/callers.ts'
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

export interface OperatorUser {
  userId: string
  email: string
  name: string | null
  role: ConsoleRole
  grantedAt: Date
  grantedBy: string
  disabledAt: Date | null
}

/** Returns users with an operator role, in the order of their ids. */
export function findOperators(
  db: Queryable,
  { after = null, limit }: { after?: string | null; limit: number },
): Promise<OperatorUser[]> {
  return db.rows<OperatorUser>(sql`
    select o.user_id as "userId", u.email, u.name, o.role, o.granted_at as "grantedAt",
      o.granted_by as "grantedBy", u.disabled_at as "disabledAt"
    from operators o join users u on u.id = o.user_id
    where ${after}::uuid is null or o.user_id > ${after}::uuid
    order by o.user_id limit ${limit}`)
}

/** Gives the user this role alone. Returns false if the user has it already. */
export async function updateOperatorRole(
  tx: Tx,
  { userId, role, by, now }: { userId: string; role: ConsoleRole; by: string; now: Date },
): Promise<boolean> {
  const count = await tx.run(sql`
    insert into operators (user_id, role, granted_at, granted_by)
    values (${userId}, ${role}, ${now}, ${by})
    on conflict (user_id) do update
      set role = excluded.role, granted_at = excluded.granted_at, granted_by = excluded.granted_by
      where operators.role <> excluded.role`)
  return count === 1
}

/** Returns false if the user has no role. */
export async function deleteOperatorRole(tx: Tx, userId: string): Promise<boolean> {
  return (await tx.run(sql`delete from operators where user_id = ${userId}`)) === 1
}
