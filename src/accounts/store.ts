/** All SQL of users and memberships. */
import { sql, type Tx } from '../platform/db/db.ts'
import type { Role } from '../platform/http/callers.ts'

export interface User {
  id: string
  /** In lower case. */
  email: string
  name: string | null
  createdAt: Date
  disabledAt: Date | null
}

/** Returns false if the address is taken. */
export async function insertUser(tx: Tx, user: Omit<User, 'disabledAt'>): Promise<boolean> {
  const count = await tx.run(sql`
    insert into users (id, email, name, created_at)
    values (${user.id}, ${user.email}, ${user.name}, ${user.createdAt})
    on conflict (email) do nothing`)
  return count === 1
}

/** Returns false if the user is a member already. */
export async function insertMembership(
  tx: Tx,
  {
    userId,
    accountId,
    role,
    createdAt,
  }: { userId: string; accountId: string; role: Role; createdAt: Date },
): Promise<boolean> {
  const count = await tx.run(sql`
    insert into memberships (user_id, account_id, role, created_at)
    values (${userId}, ${accountId}, ${role}, ${createdAt})
    on conflict do nothing`)
  return count === 1
}
