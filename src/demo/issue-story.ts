/** Issues and revokes what the story says, all in one transaction, once: under ids that can be computed again. */
import type { Action } from '../audit/actions.ts'
import { operator, recordAction } from '../audit/record.ts'
import { sha256 } from '../platform/bytes.ts'
import type { Db, Tx } from '../platform/db.ts'
import { issueCredentials, type NewCredential } from '../score-credentials/issue.ts'
import { originOf } from '../score-credentials/payload.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { findCredentials, lockKeys, type StoredCredential } from '../score-credentials/store.ts'
import { bandOf } from '../skill-standard/bands.ts'
import { type DemoKey, demoKey } from './demo-key.ts'
import { credentialIdOf, type DemoCredential, engine, revokedDaysAgo, story } from './story.ts'

export interface Telling {
  publicUrl: string
  generation: number
  keysFolder: string
  now: Date
}

/** The credentials of the story by file name, as the registry has them; issued now where it has none. */
export function storyCredentials(db: Db, telling: Telling): Promise<Map<string, StoredCredential>> {
  return db.transaction(async (tx) => {
    // Two processes that start at once must not both make a key.
    await lockKeys(tx)
    const told = await findStory(tx, telling)
    if (told.size === story.length) return told
    await issueStory(tx, telling)
    return findStory(tx, telling)
  })
}

async function findStory(tx: Tx, telling: Telling): Promise<Map<string, StoredCredential>> {
  const files = new Map(story.map((one) => [credentialIdOf(one, telling), one.file]))
  const found = await findCredentials(tx, [...files.keys()])
  return new Map(found.map((stored) => [files.get(stored.credentialId) ?? '', stored]))
}

async function issueStory(tx: Tx, telling: Telling): Promise<void> {
  const key = await demoKey(tx, telling.keysFolder, telling.now)
  const origin = originOf(telling.publicUrl)
  for (const one of story) {
    const issuedAt = dateOf(one.daysAgo, key, telling.now)
    const validityDays = validityOf(one, issuedAt, telling.now)
    const issuer = { origin, signer: key.signer, validityDays, supersedeRevokes: false }
    const id = credentialIdOf(one, telling)
    await issueCredentials(tx, issuer, [{ ...scoreOf(one), id, issuedAt }])
  }
  const { revoked } = Object.fromEntries(await findStory(tx, telling))
  if (revoked === undefined) throw new Error('the story has nobody to revoke')
  const digest = sha256(revoked.payload)
  await revokeDigests(tx, [digest], dateOf(revokedDaysAgo, key, telling.now))
  await recordStory(tx, telling, { key, digest })
}

/** What the demo does is in the audit log as if its operator had typed it, at the time when it was done. */
async function recordStory(
  tx: Tx,
  telling: Telling,
  { key, digest }: { key: DemoKey; digest: Buffer },
): Promise<void> {
  const { kid } = key.signer
  const ids = story.map((one) => credentialIdOf(one, telling))
  const [firstId = '', lastId = ''] = [ids.at(0), ids.at(-1)]
  const done: Action[] = [
    {
      action: 'credentials.issued',
      subjects: [kid],
      details: { count: ids.length, firstId, lastId },
    },
    {
      action: 'credentials.revoked',
      subjects: [digest.toString('hex')],
      details: { count: 1 },
    },
  ]
  if (key.isNew)
    done.unshift({ action: 'keys.created', subjects: [kid], details: { state: 'active' } })
  for (const one of done) await recordAction(tx, { ...one, actor: operator() }, telling.now)
}

export function scoreOf(one: DemoCredential): Omit<NewCredential, 'id' | 'issuedAt'> {
  const { username, score, confidenceLow, confidenceHigh, evidenceCount } = one
  const interval = { confidenceLow, confidenceHigh, evidenceCount }
  return { username, score, scoreBand: bandOf(score), ...interval, ...engine }
}

const dayMs = 86_400_000
/** Verification forgives five minutes to a clock, in `created` as in `validUntil`. */
const skewMs = 300_000

/** So many days ago, but no earlier than the key could have signed it. */
function dateOf(daysAgo: number, { since }: DemoKey, now: Date): Date {
  const earliest = since.getTime() - skewMs + 30_000
  return new Date(Math.max(now.getTime() - daysAgo * dayMs, earliest))
}

/** What is meant to be expired is so even where the operator's key is too young for the story: it then was valid for a shorter time. */
function validityOf({ daysAgo, validityDays }: DemoCredential, issuedAt: Date, now: Date): number {
  if (validityDays > daysAgo) return validityDays
  const longestMs = now.getTime() - skewMs - 1_000 - issuedAt.getTime()
  return Math.min(validityDays, Math.max(longestMs, 1_000) / dayMs)
}
