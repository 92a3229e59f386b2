/** All SQL of users, memberships and identities. */
import type { ConsoleRole, Role } from '../edge/http/callers.ts'
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'

export interface User {
  id: string
  /** In lower case. */
  email: string
  name: string | null
  createdAt: Date
  disabledAt: Date | null
}

/** Returns false if the address is taken. */
export async function insertUser(
  tx: Tx,
  user: Omit<User, 'disabledAt'> & { addressProvenAt?: Date | null },
): Promise<boolean> {
  const count = await tx.run(sql`
    insert into users (id, email, name, created_at, address_proven_at)
    values (${user.id}, ${user.email}, ${user.name}, ${user.createdAt}, ${user.addressProvenAt ?? null})
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

export async function findUserByEmail(db: Queryable, email: string): Promise<User | undefined> {
  const [user] = await db.rows<User>(sql`
    select id, email, name, created_at as "createdAt", disabled_at as "disabledAt"
    from users where email = ${email}`)
  return user
}

export async function findUserById(db: Queryable, id: string): Promise<User | undefined> {
  const [user] = await db.rows<User>(sql`
    select id, email, name, created_at as "createdAt", disabled_at as "disabledAt"
    from users where id = ${id}`)
  return user
}

/** A user at the OpenID Connect provider. */
export interface Identity {
  issuer: string
  subject: string
}

export async function findUserByIdentity(
  db: Queryable,
  { issuer, subject }: Identity,
): Promise<User | undefined> {
  const [user] = await db.rows<User>(sql`
    select u.id, u.email, u.name, u.created_at as "createdAt", u.disabled_at as "disabledAt"
    from user_identities i join users u on u.id = i.user_id
    where i.issuer = ${issuer} and i.subject = ${subject}`)
  return user
}

/**
 * Returns false if the identity is stored already, or if the user has another one at this issuer.
 */
export async function insertIdentity(
  tx: Tx,
  { issuer, subject, userId, createdAt }: Identity & { userId: string; createdAt: Date },
): Promise<boolean> {
  const count = await tx.run(sql`
    insert into user_identities (issuer, subject, user_id, created_at)
    values (${issuer}, ${subject}, ${userId}, ${createdAt})
    on conflict do nothing`)
  return count === 1
}

export interface SignInAccount {
  accountId: string
  /** False: the user has several accounts, and none of them was opened last. */
  isChosen: boolean
}

/** Returns the account that a sign-in opens: the one that the user opened last. */
export async function findSignInAccount(
  db: Queryable,
  userId: string,
): Promise<SignInAccount | undefined> {
  const [row] = await db.rows<SignInAccount>(sql`
    select m.account_id as "accountId",
      m.account_id is not distinct from u.last_account_id or count(*) over () = 1 as "isChosen"
    from memberships m join users u on u.id = m.user_id join accounts a on a.id = m.account_id
    where m.user_id = ${userId}
    order by m.account_id is not distinct from u.last_account_id desc, a.name limit 1`)
  return row
}

export async function updateLastAccount(
  tx: Tx,
  { userId, accountId }: { userId: string; accountId: string },
): Promise<void> {
  await tx.run(sql`update users set last_account_id = ${accountId} where id = ${userId}`)
}

/**
 * Records that the user receives mail at the address. The first proof ends the sessions of the
 * user: they began by a link that another member had as well.
 */
export async function proveAddress(tx: Tx, userId: string, now: Date): Promise<void> {
  await tx.run(sql`
    with proven as (
      update users set address_proven_at = ${now}
      where id = ${userId} and address_proven_at is null returning id)
    delete from sessions s using proven where s.user_id = proven.id`)
}

/**
 * Locks a user until the end of the transaction, so that changes of one user run one after another.
 */
export async function lockUserByEmail(tx: Tx, email: string): Promise<User | undefined> {
  const [user] = await tx.rows<User>(sql`
    select id, email, name, created_at as "createdAt", disabled_at as "disabledAt"
    from users where email = ${email} for update`)
  return user
}

export async function updateDisabled(tx: Tx, id: string, disabledAt: Date | null): Promise<void> {
  await tx.run(sql`update users set disabled_at = ${disabledAt} where id = ${id}`)
}

/** Deletes a user. Foreign keys delete the memberships, the sessions and the sign-in links. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`delete from users where id = ${id}`)
}

export interface ListedUser extends User {
  accounts: { id: string; name: string; role: Role }[]
  sessions: number
}

/**
 * Returns users sorted by address: those whose address or name has the text `find`, after the
 * address `after`. `sessions` counts valid sessions.
 */
export function findUsers(
  db: Queryable,
  {
    email = null,
    find = null,
    after = null,
    limit,
    now,
    idleSince,
  }: {
    email?: string | null
    find?: string | null
    after?: string | null
    limit: number
    now: Date
    idleSince: Date
  },
): Promise<ListedUser[]> {
  return db.rows<ListedUser>(sql`
    select u.id, u.email, u.name, u.created_at as "createdAt", u.disabled_at as "disabledAt",
      coalesce((select json_agg(json_build_object('id', a.id, 'name', a.name, 'role', m.role) order by a.name)
        from memberships m join accounts a on a.id = m.account_id where m.user_id = u.id), '[]') as accounts,
      (select count(*) from sessions s
        where s.user_id = u.id and s.ends_at > ${now} and s.last_seen_at > ${idleSince})::int as sessions
    from users u
    where (${email}::text is null or u.email = ${email})
      and (${find}::text is null or position(lower(${find}) in u.email) > 0
        or position(lower(${find}) in lower(u.name)) > 0)
      and (${after}::text is null or u.email > ${after})
    order by u.email limit ${limit}`)
}

export interface Member extends Omit<User, 'id'> {
  userId: string
  role: Role
}

/** Returns the members of an account, owners first. */
export function findMembers(db: Queryable, accountId: string): Promise<Member[]> {
  return db.rows<Member>(sql`
    select u.id as "userId", u.email, u.name, m.role, m.created_at as "createdAt", u.disabled_at as "disabledAt"
    from memberships m join users u on u.id = m.user_id
    where m.account_id = ${accountId} order by m.role desc, u.email`)
}

/**
 * Locks the account until the end of the transaction, so that changes of its members run one after
 * another, and returns the members. Two statements: the second one sees what the previous holder of
 * the lock has committed.
 */
export async function lockMemberships(tx: Tx, accountId: string): Promise<Member[]> {
  await tx.rows(sql`select from accounts where id = ${accountId} for no key update`)
  return findMembers(tx, accountId)
}

export async function updateRole(
  tx: Tx,
  { accountId, userId, role }: { accountId: string; userId: string; role: Role },
): Promise<void> {
  await tx.run(sql`
    update memberships set role = ${role} where account_id = ${accountId} and user_id = ${userId}`)
}

/** Deletes a membership, and by reference the sessions in this account. */
export async function deleteMembership(
  tx: Tx,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<void> {
  await tx.run(sql`delete from memberships where account_id = ${accountId} and user_id = ${userId}`)
}

export interface SignedInUser {
  email: string
  name: string | null
  /** Name of the account. */
  account: string
  /** The other accounts of which the user is a member, sorted by name. */
  otherAccounts: { id: string; name: string }[]
  /** How many open invitations the user has. */
  invitations: number
}

const otherAccountsMax = 20

/** Returns the signed-in user and the accounts of the user, for pages. */
export async function findSignedIn(
  db: Queryable,
  { userId, accountId, now }: { userId: string; accountId: string; now: Date },
): Promise<SignedInUser | undefined> {
  const [found] = await db.rows<SignedInUser>(sql`
    select u.email, u.name, a.name as account, coalesce((
        select json_agg(json_build_object('id', o.id, 'name', o.name) order by o.name)
        from (
          select o.id, o.name from memberships m join accounts o on o.id = m.account_id
          where m.user_id = u.id and o.id <> a.id
          order by o.name limit ${otherAccountsMax}
        ) o), '[]') as "otherAccounts",
      (select count(*) from invitations i
        where i.email = u.email and u.address_proven_at is not null
          and i.answered_at is null and i.expires_at > ${now})::int as invitations
    from users u, accounts a
    where u.id = ${userId} and a.id = ${accountId}`)
  return found
}

/**
 * A user with an operator role (decision D63). The look-up of a session reads the role, so every
 * node knows a withdrawn role on the next request.
 */
export interface OperatorUser extends Pick<User, 'email' | 'name' | 'disabledAt'> {
  userId: string
  role: ConsoleRole
  grantedAt: Date
  grantedBy: string
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
