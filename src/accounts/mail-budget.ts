/**
 * The mail budget: limits over all kinds of mail, on all nodes together (decision D45). Each window
 * slides exactly, and a rejected mail does not count. A mail counts whether or not a user has the
 * address, so the limits reveal nothing about users.
 *
 * The mails to an address are counted for each network that requests them. All networks from which
 * the user has not signed in share a further limit; a network from which the user has signed in
 * does not. So a stranger floods no mailbox, and uses up no budget but that of strangers.
 */
import type { ClientNetwork } from '../edge/rate-limit/client-network.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { bytesArray } from '../platform/db/sql-arrays.ts'
import { coarseNetwork } from '../platform/networks.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** At most `max` mails in any window of `windowMs`. */
interface MailLimit {
  /** Lowercase hex. */
  bucket: string
  max: number
  windowMs: number
}

interface MailRequest {
  email: string
  network: ClientNetwork
  /** Whether the user of the address has signed in from this network. */
  isKnownNetwork: boolean
}

/** Returns the limits of a mail that a browser requests for an address. */
export function requestLimits({ email, network, isKnownNetwork }: MailRequest): MailLimit[] {
  const pair = bucketOf('address and network', `${email} ${coarseNetwork(network.address)}`)
  return [
    ...(isKnownNetwork
      ? [{ bucket: pair, max: 5, windowMs: hourMs }]
      : [{ bucket: pair, max: 3, windowMs: hourMs }, strangersLimit(email)]),
    ...network.buckets.map(({ key, factor }) => ({
      bucket: bucketOf('network', key),
      max: 20 * factor,
      windowMs: hourMs,
    })),
  ]
}

/** Returns the limit that all networks share from which the user has not signed in. */
export function strangersLimit(email: string): MailLimit {
  return { bucket: bucketOf('strangers', email), max: 10, windowMs: dayMs }
}

/** Returns the limit of the mails that the members of an account cause. */
export function accountLimit(accountId: string): MailLimit {
  return { bucket: bucketOf('account', accountId), max: 20, windowMs: dayMs }
}

/** Returns the limit of first invitations to an address, of all accounts together. */
export function invitationLimit(email: string): MailLimit {
  return { bucket: bucketOf('invitations', email), max: 5, windowMs: dayMs }
}

/** Counts a mail against all limits or none. Returns null, or the seconds until it is allowed. */
export async function spendMailBudget(
  tx: Tx,
  limits: readonly MailLimit[],
): Promise<number | null> {
  const rows = await lockBudget(tx, limits)
  const spent = new Map(rows.map(({ bucket, spentAt }) => [bucket, spentAt]))
  const [{ now } = { now: new Date() }] = rows
  const waits = limits.map(({ bucket, max, windowMs }) => {
    const leaving = spent.get(bucket)?.at(-max)
    return leaving === undefined ? 0 : leaving.getTime() + windowMs - now.getTime()
  })
  const waitMs = Math.max(...waits)
  if (waitMs > 0) return Math.ceil(waitMs / 1_000)
  await updateBudget(tx, limits, now)
  return null
}

function bucketOf(kind: string, name: string): string {
  return sha256(`${kind} ${name}`).toString('hex')
}

interface Window {
  /** Lowercase hex. */
  bucket: string
  windowMs: number
}

interface BudgetRow {
  /** Lowercase hex. */
  bucket: string
  /** Mails of the window, oldest first. */
  spentAt: Date[]
  /** Time of the database, so that all nodes use one clock. */
  now: Date
}

/**
 * Locks the buckets and returns the mails of their windows. All transactions lock in the same
 * order, so that no two of them wait for each other.
 */
async function lockBudget(tx: Tx, windows: readonly Window[]): Promise<BudgetRow[]> {
  const sorted = windows.toSorted((a, b) => (a.bucket < b.bucket ? -1 : 1))
  const buckets = bytesArray(sorted.map(({ bucket }) => bucket))
  const lengths = sorted.map(({ windowMs }) => windowMs)
  await tx.run(sql`
    insert into mail_budget (bucket) select unnest(${buckets}::bytea[]) on conflict do nothing`)
  return tx.rows<BudgetRow>(sql`
    with locked as (
      select bucket, spent_at from mail_budget
      where bucket = any(${buckets}::bytea[]) order by bucket for update)
    select encode(bucket, 'hex') as bucket, clock_timestamp() as now,
      array(select s from unnest(spent_at) s
        where s > clock_timestamp() - make_interval(secs => length / 1000.0) order by s) as "spentAt"
    from locked join unnest(${buckets}::bytea[], ${lengths}::int[]) as w(named, length) on named = bucket`)
}

/** Adds a mail to each bucket, and forgets those that have left the window. */
async function updateBudget(tx: Tx, windows: readonly Window[], now: Date): Promise<void> {
  const buckets = bytesArray(windows.map(({ bucket }) => bucket))
  const lengths = windows.map(({ windowMs }) => windowMs)
  await tx.run(sql`
    update mail_budget b set spent_at = array(
        select s from unnest(b.spent_at) s
        where s > ${now}::timestamptz - make_interval(secs => w.length / 1000.0) order by s)
      || ${now}::timestamptz
    from unnest(${buckets}::bytea[], ${lengths}::int[]) as w(named, length)
    where w.named = b.bucket`)
}

/** Days for which a network counts as the user's own after a sign-in from it. */
const knownDays = 90

/** Returns whether the user of an address has signed in from a network, such as `192.0.2.0/24`. */
export async function isKnownNetwork(
  db: Queryable,
  { email, network, now }: { email: string; network: string; now: Date },
): Promise<boolean> {
  const rows = await db.rows(sql`
    select from user_networks n join users u on u.id = n.user_id
    where u.email = ${email} and n.network = ${network}
      and n.signed_in_at > ${now}::timestamptz - make_interval(days => ${knownDays})`)
  return rows.length > 0
}

export async function insertUserNetwork(
  tx: Tx,
  { userId, network, now }: { userId: string; network: string; now: Date },
): Promise<void> {
  await tx.run(sql`
    insert into user_networks (user_id, network, signed_in_at) values (${userId}, ${network}, ${now})
    on conflict (user_id, network) do update set signed_in_at = excluded.signed_in_at`)
}

/** Deletes buckets without a mail in the last day, and networks that no longer count. */
export async function sweepMailBudget(db: Queryable, now: Date): Promise<void> {
  await db.run(sql`
    delete from mail_budget
    where spent_at[cardinality(spent_at)] is null
      or spent_at[cardinality(spent_at)] < clock_timestamp() - interval '1 day'`)
  await db.run(sql`
    delete from user_networks
    where signed_in_at <= ${now}::timestamptz - make_interval(days => ${knownDays})`)
}
