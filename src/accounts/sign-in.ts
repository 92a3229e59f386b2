/**
 * Sign-in by link (decisions D45–D48). A request for a link writes one row of the mail outbox,
 * whether or not a user has the address. So neither the bytes nor the time of the answer reveal
 * users. The jobs process looks up the user when it sends the mail.
 *
 * Crash: a request is answered after its row is committed. One transaction deletes the mail and
 * inserts the session, so a link is consumed exactly if it made a session, and it makes one.
 */
import { randomBytes } from 'node:crypto'
import type { Visitor } from '../edge/http/endpoint.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { coarseNetwork } from '../platform/networks.ts'
import { isKnownNetwork, requestLimits, spendMailBudget } from './mail-budget.ts'
import { findLinkEmail, insertLink, insertMail, takeLink } from './mail-store.ts'
import { type BegunSession, beginBrowserSession, type SessionRules } from './sessions.ts'
import { findSignInAccount, proveAddress } from './store.ts'

const linkMinutes = 15
const tokenForm = /^[\w-]{43}$/

export type RequestedLink = { kind: 'requested' } | { kind: 'limited'; retryAfterSeconds: number }

/** Queues a mail with a sign-in link. It is sent if a user has the address. */
export function requestLink(
  db: Db,
  { email, next, visitor }: { email: string; next: string | null; visitor: Visitor },
  now: Date,
): Promise<RequestedLink> {
  return db.transaction(async (tx) => {
    const { network } = visitor
    const seen = { email, network: coarseNetwork(network.address), now }
    const limits = requestLimits({ email, network, isKnownNetwork: await isKnownNetwork(tx, seen) })
    const retryAfterSeconds = await spendMailBudget(tx, limits)
    if (retryAfterSeconds !== null) return { kind: 'limited', retryAfterSeconds }
    const id = uuidV7(now)
    const mail = { id, kind: 'sign_in', email, next } as const
    await insertMail(tx, { ...mail, createdAt: now, dueAt: now })
    return { kind: 'requested' }
  })
}

/** Makes a link for a mail. Returns its token, or null if the mail was deleted. */
export async function makeLink(
  tx: Tx,
  { mailId, userId }: { mailId: string; userId: string },
  now: Date,
): Promise<string | null> {
  const token = randomBytes(32).toString('base64url')
  const expiresAt = new Date(now.getTime() + linkMinutes * 60_000)
  const isMade = await insertLink(tx, { digest: sha256(token), mailId, userId, expiresAt })
  return isMade ? token : null
}

/**
 * Returns the URL for the user. The token is in the query, because a page without scripts cannot
 * read a fragment.
 */
export function linkUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/sign-in/confirm?token=${token}`
}

/**
 * Returns the address of the user of a link, or null if the link cannot be used. Does not consume
 * the link, because mail scanners open links.
 */
export async function readLink(
  db: Db,
  token: string | undefined,
  now: Date,
): Promise<string | null> {
  if (token === undefined || !tokenForm.test(token)) return null
  return (await findLinkEmail(db, sha256(token), now)) ?? null
}

export interface SignedIn {
  session: BegunSession
  /** The page to open. Null: the first page. */
  next: string | null
}

/** The first page of the console. */
export const consolePath = '/console'

/** Returns whether a page belongs to the console, which shows the data of no account. */
export function isOfConsole(path: string | null): boolean {
  return path !== null && /^\/console(?![\w.-])/.test(path)
}

/** The page on which users choose among their accounts, and answer invitations. */
export const accountsPath = '/dashboard/account'

/**
 * Consumes a link and begins a session. Returns null if the link cannot be used. The session that
 * the browser had before ends, and its value is never adopted.
 */
export async function confirmLink(
  db: Db,
  {
    token,
    visitor,
    previousValue,
  }: { token: string | undefined; visitor: Visitor; previousValue: string | null },
  { rules, now }: { rules: SessionRules; now: Date },
): Promise<SignedIn | null> {
  if (token === undefined || !tokenForm.test(token)) return null
  return db.transaction(async (tx) => {
    const used = await takeLink(tx, sha256(token), now)
    if (used === undefined) return null
    const { userId, next } = used
    const account = await findSignInAccount(tx, userId)
    if (account === undefined) return null
    await proveAddress(tx, userId, now)
    const of = { userId, accountId: account.accountId, visitor, previousValue }
    const session = await beginBrowserSession(tx, of, { rules, now })
    return { session, next: account.isChosen || isOfConsole(next) ? next : accountsPath }
  })
}
