/** `assay reports reviews`, `unlock`, `decline` and `lock`: which accounts may report (decision D43). */
import { declineUnlockReview, lockReporting, unlockReporting } from '../agent-decisions/unlock.ts'
import { findOpenReviews } from '../agent-decisions/unlock-store.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { withDatabase } from './context.ts'
import { accountNamed } from './names.ts'
import { done, type Outcome, withoutControls } from './output.ts'

const reviewsMax = 1_000

export function listReviewsCommand(config: Config): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const open = await findOpenReviews(db, reviewsMax)
    const reviews = open.map(({ id, userId, requestedAt, note: text }) => ({
      id,
      userId,
      requestedAt: wireTime(requestedAt),
      note: text,
    }))
    const lines = reviews.map(
      ({ userId, requestedAt, note: text }) =>
        `${requestedAt}  account ${userId}${text === null ? '' : `  ${oneLine(text)}`}`,
    )
    return done({ ok: true, reviews }, lines.length > 0 ? lines : ['No review is open.'])
  })
}

/** The owner of the account wrote it: it must neither end the line nor steer the terminal. */
function oneLine(text: string): string {
  return withoutControls(text).replace(/\s+/gu, ' ')
}

export function unlockReportingCommand(config: Config, account: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const { id: userId } = await accountNamed(db, account)
    const now = systemClock()
    const { reviewed } = await db.transaction(async (tx) => {
      const unlocked = await unlockReporting(tx, { userId, now })
      const entry = {
        actor: operator(),
        action: 'agent_reporting.unlocked',
        subjects: [userId],
        details: unlocked,
      } as const
      await recordAction(tx, entry, now)
      return unlocked
    })
    const told = reviewed ? 'Its request was approved.' : 'It had not asked.'
    return done({ ok: true, userId, reviewed }, [`${userId} may report. ${told}`])
  })
}

export function declineReviewCommand(config: Config, account: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const { id: userId } = await accountNamed(db, account)
    const now = systemClock()
    const declined = await db.transaction(async (tx) => {
      const wasOpen = await declineUnlockReview(tx, { userId, now })
      const action = 'agent_reporting.declined'
      const entry = { actor: operator(), action, subjects: [userId], details: {} } as const
      if (wasOpen) await recordAction(tx, entry, now)
      return wasOpen
    })
    if (declined) return done({ ok: true, userId }, [`The request of ${userId} is declined.`])
    const message = `${userId} has no open request.`
    return done({ ok: false, userId, message }, [message], 1)
  })
}

export function lockReportingCommand(config: Config, account: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const { id: userId } = await accountNamed(db, account)
    const now = systemClock()
    await db.transaction(async (tx) => {
      await lockReporting(tx, { userId, now })
      const action = 'agent_reporting.locked'
      const entry = { actor: operator(), action, subjects: [userId], details: {} } as const
      await recordAction(tx, entry, now)
    })
    return done({ ok: true, userId }, [`${userId} may not report any more.`])
  })
}
