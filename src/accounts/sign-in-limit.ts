/**
 * Limits of requests for sign-in links (decision D45): 5 an hour for each mail address and 20 an
 * hour for each network address, on all nodes together. The window slides exactly, and a rejected
 * request does not extend it. An address is counted whether or not a user has it, so the limit
 * reveals nothing about users.
 */
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Tx } from '../platform/db/db.ts'
import type { ClientNetwork } from '../platform/rate-limit/client-network.ts'
import { lockLimits, updateLimits } from './mail-store.ts'

const perEmail = 5
const perNetwork = 20
const hourMs = 3_600_000

/** Counts a request. Returns null, or the seconds until the next request is allowed. */
export async function limitSignIn(
  tx: Tx,
  { email, network }: { email: string; network: ClientNetwork },
): Promise<number | null> {
  const limits = new Map([[bucketOf('mail', email), perEmail]])
  for (const { key, factor } of network.buckets)
    limits.set(bucketOf('network', key), perNetwork * factor)
  const buckets = [...limits.keys()].map((hex) => Buffer.from(hex, 'hex'))
  const rows = await lockLimits(tx, buckets)
  const waits = rows.map(({ bucket, requestedAt, now }) => {
    const limit = limits.get(bucket) ?? 0
    const leaving = requestedAt[requestedAt.length - limit]
    return leaving === undefined ? 0 : leaving.getTime() + hourMs - now.getTime()
  })
  const waitMs = Math.max(...waits)
  if (waitMs > 0) return Math.ceil(waitMs / 1_000)
  const [{ now } = { now: new Date() }] = rows
  await updateLimits(tx, buckets, now)
  return null
}

function bucketOf(kind: 'mail' | 'network', name: string): string {
  return sha256(`${kind} ${name}`).toString('hex')
}
