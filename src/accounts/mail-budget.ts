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
import type { Tx } from '../platform/db/db.ts'
import { coarseNetwork } from '../platform/networks.ts'
import { lockBudget, updateBudget } from './mail-budget-store.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** At most `max` mails in any window of `windowMs`. */
export interface MailLimit {
  /** Lowercase hex. */
  bucket: string
  max: number
  windowMs: number
}

export interface MailRequest {
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
