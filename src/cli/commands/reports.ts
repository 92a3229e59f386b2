/**
 * `assay reports`: reports of agent decisions, and the accounts that may send them (decision D43).
 */
import type { Command } from 'commander'
import { wireReport } from '../../agent-decisions/handlers.ts'
import { eraseReports } from '../../agent-decisions/retention.ts'
import {
  findReports,
  findReportsOf,
  type ReportPage,
  type ReportRow,
} from '../../agent-decisions/store.ts'
import {
  declineUnlockReview,
  lockReporting,
  unlockReporting,
} from '../../agent-decisions/unlock.ts'
import { findOpenReviews } from '../../agent-decisions/unlock-store.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable } from '../../platform/db/db.ts'
import {
  accountArgument,
  accountOption,
  each,
  limitOption,
  parseSha256,
  parseUsername,
} from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, interrupted, usageError } from '../fail.ts'
import { accountNamed, accountNames } from '../names.ts'
import { done, type Outcome } from '../output.ts'
import { openOutput } from '../output-file.ts'
import { type Columns, listed } from '../render.ts'

export function declareCommand(reports: Command): void {
  command(
    reports,
    'list',
    'Show reports, the newest first',
    "assay reports list --account 'Example Ltd'",
  )
    .option(...accountOption)
    .option(...limitOption(50, 100_000))
    .action(act(list))

  command(
    reports,
    'export',
    'Write all reports, one a line, the newest first',
    'assay reports export --out reports.ndjson',
  )
    .option(...accountOption)
    .option('--out <file>', 'a file that only you can read; - is standard output', '-')
    .action(act(exportAll))

  command(
    reports,
    'reviews',
    'Show which locked accounts request a review, the oldest request first',
    'assay reports reviews',
  ).action(act(listReviews))

  command(
    reports,
    'unlock',
    'Let a locked account report again; approves its review',
    "assay reports unlock 'Example Ltd'",
  )
    .argument(...accountArgument)
    .action(act(unlock))

  command(
    reports,
    'decline',
    'Decline the review of an account; it stays locked and may request another',
    "assay reports decline 'Example Ltd'",
  )
    .argument(...accountArgument)
    .action(act(decline))

  command(
    reports,
    'lock',
    'Refuse further reports of an account (403); its earlier reports stay',
    "assay reports lock 'Example Ltd'",
  )
    .argument(...accountArgument)
    .action(act(lock))

  command(
    reports,
    'erase',
    'Delete every report about a worker or a score',
    'assay reports erase --username ada-lovelace',
  )
    .option('--username <username...>', 'with or without @', each(parseUsername))
    .option('--score <id...>', 'ids of scores', each(parseSha256))
    .action(act(erase))
}

interface ListFlags {
  account?: string
  limit: number
}

function list({ account, limit }: ListFlags): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const read = await readerOf(db, account)
    const rows = await read({ before: null, limit })
    const names = await accountNames(db, rows)
    // The notes of an account are only in the JSON report.
    const columns: Columns<ReportRow> = {
      time: ({ createdAt }) => createdAt,
      account: ({ userId }) => names.get(userId) ?? userId,
      about: ({ subject }) =>
        subject.kind === 'candidate' ? `@${subject.username}` : subject.scoreId,
      decision: ({ decision }) => decision,
      outcome: ({ outcome }) => outcome,
      id: ({ id }) => id,
    }
    return listed({ reports: rows.map(wireReport) }, { rows, columns, none: 'No report is kept.' })
  })
}

const pageMax = 500
const ownerOnly = 0o600

/** Writes one report a line, as the interface shows it, in bounded memory. */
function exportAll({ account, out }: { account?: string; out: string }): Promise<Outcome> {
  return withContext(
    async ({ db, signal }) => {
      const read = await readerOf(db, account)
      const sink = await openOutput(out, ownerOnly)
      let exported = 0
      let rows: ReportRow[] = []
      try {
        do {
          if (signal.aborted)
            throw interrupted(`${out} holds only the newest ${counted(exported, 'report')}.`)
          rows = await read({ before: rows.at(-1)?.id ?? null, limit: pageMax })
          await sink.write(rows.map((row) => `${JSON.stringify(wireReport(row))}\n`).join(''))
          exported += rows.length
        } while (rows.length === pageMax)
      } finally {
        await sink.close()
      }
      const lines = [`You have exported ${counted(exported, 'report')}.`]
      return { ...done({ exported, out }, lines), linesTo: 'stderr' }
    },
    { watchesSignal: true },
  )
}

async function readerOf(
  db: Queryable,
  account: string | undefined,
): Promise<(page: ReportPage) => Promise<ReportRow[]>> {
  if (account === undefined) return (page) => findReports(db, page)
  const { id } = await accountNamed(db, account)
  return (page) => findReportsOf(db, id, page)
}

const reviewsMax = 1_000

function listReviews(): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const reviews = await findOpenReviews(db, reviewsMax)
    const names = await accountNames(db, reviews)
    const columns: Columns<(typeof reviews)[number]> = {
      requested: ({ requestedAt }) => requestedAt,
      account: ({ userId }) => names.get(userId) ?? userId,
      note: ({ note }) => note,
    }
    const shown = reviews.map((one) => ({ ...one, requestedAt: wireTime(one.requestedAt) }))
    return listed({ reviews: shown }, { rows: reviews, columns, none: 'No review is open.' })
  })
}

function unlock(named: string): Promise<Outcome> {
  return withContext(async (context) => {
    const { id: userId, name } = await accountNamed(context.db, named)
    const { reviewed } = await unlockReporting(context, userId)
    return done({ userId, reviewed }, [
      reviewed
        ? `${name} may report. Its review is approved.`
        : `${name} may report. It had not requested a review.`,
    ])
  })
}

function decline(named: string): Promise<Outcome> {
  return withContext(async (context) => {
    const { id: userId, name } = await accountNamed(context.db, named)
    if (!(await declineUnlockReview(context, userId)))
      throw failure(`${name} has no open review. \`assay reports reviews\` shows all.`, {
        report: { userId },
      })
    return done({ userId }, [`The review of ${name} is declined.`])
  })
}

function lock(named: string): Promise<Outcome> {
  return withContext(async (context) => {
    const { id: userId, name } = await accountNamed(context.db, named)
    await lockReporting(context, userId)
    return done({ userId }, [
      `${name} may not report any more. \`assay reports unlock\` ends that.`,
    ])
  })
}

interface EraseFlags {
  username?: string[]
  score?: string[]
}

function erase({ username: usernames = [], score: scoreIds = [] }: EraseFlags): Promise<Outcome> {
  if (usernames.length + scoreIds.length === 0)
    throw usageError('Name a worker with --username or a score with --score.')
  return withContext(async (context) => {
    const erased = await eraseReports(context, { usernames, scoreIds })
    return done({ erased }, [`You have erased ${counted(erased, 'report')}.`])
  })
}
