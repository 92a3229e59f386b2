/** `assay disputes`: the disputes of workers, and their outcomes. */
import type { Command } from 'commander'
import {
  type Dispute,
  type DisputeKind,
  disputeKinds,
  type Ending,
  resolutions,
} from '../../disputes/dispute.ts'
import { beginReview, endNamedDispute, openNamedDispute } from '../../disputes/dispute-verbs.ts'
import type { Opening } from '../../disputes/open-dispute.ts'
import {
  findChanges,
  findDisputes,
  findLatestDisputeIds,
  findOpenDisputeIds,
  findWorkerDisputeIds,
} from '../../disputes/store.ts'
import type { EvidenceName } from '../../evidence/evidence-names.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { findWorkerId } from '../../workers/store.ts'
import {
  byOption,
  each,
  idFrom,
  limitOption,
  oneOf,
  parseEvidenceName,
  parseUsername,
  usernameArgument,
} from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, unknownWorker, usageError } from '../fail.ts'
import { usernamesOf } from '../names.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed, renderFields } from '../render.ts'
import { scoringOr } from '../scoring.ts'

const disputeArgument = ['<id>', 'id of the dispute', idFrom('assay disputes list')] as const
const exampleId = '01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f'

export function declareCommand(disputes: Command): void {
  command(
    disputes,
    'open',
    'Open a dispute of a worker',
    'assay disputes open ada-lovelace --kind evidence --evidence acme-reviews/2026-117 --exclude',
  )
    .argument(...usernameArgument)
    .requiredOption('--kind <kind>', disputeKinds.join(', '), oneOf(disputeKinds))
    .option(
      '--evidence <id...>',
      'the disputed items: evidence ids, or SOURCE/EXTERNAL-ID',
      each(parseEvidenceName),
    )
    .option('--exclude', 'do not count the evidence until the dispute ends')
    .option('--restrict', 'hide the score until the dispute ends (default: DISPUTE_HIDES_SCORE)')
    .option('--no-restrict', 'keep the score public')
    .option(...byOption)
    .action(act(open))

  command(
    disputes,
    'review',
    'Record that the review of a dispute has begun',
    `assay disputes review ${exampleId}`,
  )
    .argument(...disputeArgument)
    .option(...byOption)
    .action(act(review))

  command(
    disputes,
    'resolve',
    'Decide a dispute that is under review, for ever',
    `assay disputes resolve ${exampleId} --as upheld`,
  )
    .argument(...disputeArgument)
    .requiredOption('--as <resolution>', resolutions.join(', '), oneOf(resolutions))
    .option(
      '--evidence <id...>',
      'the upheld items, if the dispute is partly upheld',
      each(parseEvidenceName),
    )
    .option(...byOption)
    .action(act(resolve))

  command(
    disputes,
    'withdraw',
    'Record that the worker withdraws a dispute',
    `assay disputes withdraw ${exampleId}`,
  )
    .argument(...disputeArgument)
    .option(...byOption)
    .action(act(withdraw))

  command(
    disputes,
    'list',
    'Show the open disputes, the earliest due first',
    'assay disputes list --username ada-lovelace',
  )
    .option('--all', 'the latest ones, ended ones too')
    .option('--username <username>', 'all of this worker', parseUsername)
    .option(...limitOption(200, 10_000))
    .action(act(list))

  command(disputes, 'show', 'Show a dispute and its history', `assay disputes show ${exampleId}`)
    .argument(...disputeArgument)
    .action(act(show))
}

interface OpenFlags {
  kind: DisputeKind
  evidence?: EvidenceName[]
  exclude?: boolean
  /** Without it, the setting decides. */
  restrict?: boolean
  by: string
}

function open(username: string, flags: OpenFlags): Promise<Outcome> {
  const { kind, evidence: names = [], exclude = false, by } = flags
  const isAboutItems = kind === 'evidence'
  if (isAboutItems && names.length === 0) throw usageError('Name the evidence with --evidence.')
  if (!isAboutItems && names.length > 0) throw usageError('--evidence is for --kind evidence.')
  if (!isAboutItems && exclude) throw usageError('--exclude is for --kind evidence.')
  return withContext(async (context) => {
    const { disputeHidesScore, disputeDueDays: dueDays } = context.config
    const { restrict: restricted = disputeHidesScore } = flags
    const named = { username, kind, names, exclude, restricted, dueDays, by }
    const opening = await openNamedDispute(context, named)
    if (opening.outcome === 'unknown_worker') throw unknownWorker(username)
    if (opening.outcome !== 'opened')
      throw failure(refusalOf(username, opening), { report: { ...opening } })
    const { id, dueAt, items } = opening.dispute
    const [shown] = await shownDisputes(context, [opening.dispute])
    const excluded = items.filter((item) => item.excluded).length
    return done({ dispute: shown?.report }, [
      `Dispute ${id} is open, due ${wireTime(dueAt)}.`,
      restricted ? `The score of ${username} is hidden until it ends.` : 'The score stays public.',
      ...(excluded > 0
        ? [`Until then, the score leaves out ${counted(excluded, 'item')} of evidence.`]
        : []),
    ])
  })
}

type Refusal = Exclude<Opening, { outcome: 'opened' | 'unknown_worker' }>

function refusalOf(username: string, refusal: Refusal): string {
  if (refusal.outcome === 'no_score') return `${username} has no score to dispute.`
  if (refusal.outcome === 'already_open')
    return `The dispute ${refusal.disputeId} about the same is open. End it first.`
  const named = refusal.evidenceIds.join(', ')
  return refusal.outcome === 'revoked'
    ? `Revoked already, for ever: ${named}.`
    : `Not evidence of ${username}: ${named}.`
}

function review(disputeId: string, { by }: { by: string }): Promise<Outcome> {
  return withContext(async (context) => {
    const reviewing = await beginReview(context, disputeId, by)
    if (reviewing.outcome === 'unknown_dispute') throw unknownDispute(disputeId)
    if (reviewing.outcome === 'refused') throw cannot('reviewed', disputeId, reviewing.from)
    return done({ disputeId, state: 'under_review' }, [`Dispute ${disputeId} is under review.`])
  })
}

interface ResolveFlags {
  as: Exclude<Ending, 'withdrawn'>
  evidence?: EvidenceName[]
  by: string
}

function resolve(
  disputeId: string,
  { as, evidence: names = [], by }: ResolveFlags,
): Promise<Outcome> {
  return end(disputeId, { ending: as, names, by })
}

function withdraw(disputeId: string, { by }: { by: string }): Promise<Outcome> {
  return end(disputeId, { ending: 'withdrawn', names: [], by })
}

interface EndFlags {
  ending: Ending
  names: readonly EvidenceName[]
  by: string
}

/** A score may follow from any end. If none can be computed here, the dispute stays as it is. */
function end(disputeId: string, request: EndFlags): Promise<Outcome> {
  const { ending } = request
  const state = ending === 'withdrawn' ? ending : 'resolved'
  return withContext(async (context) => {
    const scoring = await scoringOr(context, (reason, cause): never => {
      throw failure(`${reason} The dispute stays as it is.`, { cause })
    })
    const ended = await endNamedDispute(context, scoring, { disputeId, ...request })
    if (ended.outcome === 'unknown_dispute') throw unknownDispute(disputeId)
    if (ended.outcome === 'refused') throw cannot(state, disputeId, ended.from)
    if (ended.outcome === 'unusable')
      throw failure(`Dispute ${disputeId}: ${ended.reason}.`, { report: { disputeId } })
    const { scoreChanged, resultingSnapshotId } = ended
    return done({ disputeId, state, ending, scoreChanged, resultingSnapshotId }, [
      `Dispute ${disputeId}: ${ending}.`,
      scoreChanged
        ? `The score has changed: ${resultingSnapshotId ?? 'none'}.`
        : 'The score is the one that was disputed.',
    ])
  })
}

function cannot(moved: string, disputeId: string, from: string): Error {
  const next =
    from === 'open'
      ? 'review it first'
      : from === 'under_review'
        ? 'which is done already'
        : 'which is final'
  return failure(`Dispute ${disputeId} cannot be ${moved}: it is ${from}, ${next}.`, {
    report: { disputeId, from },
  })
}

function unknownDispute(disputeId: string): Error {
  return failure(`No dispute has the id ${disputeId}. \`assay disputes list\` shows them.`, {
    report: { disputeId },
  })
}

interface ShownDispute {
  dispute: Dispute
  username: string
  report: ReturnType<typeof reportOf>
}

async function shownDisputes(
  { db, clock }: { db: Queryable; clock: () => Date },
  disputes: readonly Dispute[],
): Promise<ShownDispute[]> {
  const workerIds = disputes.map(({ workerId }) => workerId)
  const usernames = await usernamesOf(db, workerIds)
  return disputes.map((dispute) => {
    const username = usernames.get(dispute.workerId) ?? '-'
    return { dispute, username, report: reportOf(dispute, username, clock()) }
  })
}

function reportOf({ items, ...dispute }: Dispute, username: string, now: Date) {
  const { openedAt, dueAt, endedAt } = dispute
  const times = {
    openedAt: wireTime(openedAt),
    dueAt: wireTime(dueAt),
    endedAt: endedAt && wireTime(endedAt),
  }
  const overdue = endedAt === null && dueAt <= now
  return { ...dispute, ...times, username, overdue, evidence: items }
}

const columns: Columns<ShownDispute> = {
  due: ({ dispute }) => dispute.dueAt,
  username: ({ username }) => username,
  kind: ({ dispute: { kind, items } }) =>
    kind === 'evidence' ? `${kind} (${items.length})` : kind,
  state: ({ dispute: { resolution, state }, report }) =>
    `${resolution ?? state}${report.overdue ? ', overdue' : ''}`,
  score: ({ dispute: { restricted, endedAt } }) =>
    restricted && endedAt === null ? 'hidden' : 'public',
  id: ({ dispute }) => dispute.id,
}

interface ListFlags {
  username?: string
  all?: boolean
  limit: number
}

function list({ username, all = false, limit }: ListFlags): Promise<Outcome> {
  return withContext(async (context) => {
    const { db } = context
    const ids =
      username !== undefined
        ? await disputeIdsOf(db, username)
        : all
          ? await findLatestDisputeIds(db, limit)
          : await findOpenDisputeIds(db, limit)
    const rows = await shownDisputes(context, await findDisputes(db, ids))
    const disputes = rows.map(({ report }) => report)
    return listed({ disputes }, { rows, columns, none: 'There are no disputes.' })
  })
}

async function disputeIdsOf(db: Queryable, username: string): Promise<string[]> {
  const workerId = await findWorkerId(db, username)
  if (workerId === null) throw unknownWorker(username)
  return findWorkerDisputeIds(db, workerId)
}

function show(disputeId: string): Promise<Outcome> {
  return withContext(async (context) => {
    const { db } = context
    const [shown] = await shownDisputes(context, await findDisputes(db, [disputeId]))
    if (shown === undefined) throw unknownDispute(disputeId)
    const { dispute, username, report } = shown
    const moves = (await findChanges(db, disputeId)).map(({ state, changedAt, actor }) => ({
      state,
      at: wireTime(changedAt),
      by: actor,
    }))
    const { snapshotId, resultingSnapshotId, endedAt } = report
    return done({ dispute: { ...report, moves } }, [
      `${username}: dispute about ${dispute.kind}`,
      ...renderFields({
        id: dispute.id,
        state: columns.state?.(shown) ?? null,
        due: dispute.dueAt,
        score: columns.score?.(shown) ?? null,
        'score then': snapshotId ?? 'none',
        ...(endedAt !== null && { 'score after': resultingSnapshotId ?? 'none' }),
      }),
      ...dispute.items.map(
        ({ evidenceId, excluded, upheld }) =>
          `  evidence ${evidenceId}${excluded ? ', excluded' : ''}${upheld ? ', upheld' : ''}`,
      ),
      ...moves.map(({ state, at, by }) => `  ${at}  ${state}, by ${by}`),
    ])
  })
}
