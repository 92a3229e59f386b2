/** `assay disputes list` and `show`. */
import type { Config } from '../config/config.ts'
import {
  findChanges,
  findDisputes,
  findLatestDisputeIds,
  findOpenDisputeIds,
  findWorkerDisputeIds,
} from '../disputes/store.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { findWorkerId } from '../workers/store.ts'
import { withDatabase } from './context.ts'
import { disputeGiven, toldDisputes, unknownDispute } from './disputes-told.ts'
import { unknownWorker, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'

export interface ListFlags {
  /** All of this person's, open and ended. */
  username?: string
  /** The latest, ended ones too. */
  all?: boolean
  limit: string
}

const limitMax = 10_000

/** Unless told otherwise: what is open or under review, the first due first. */
export function listDisputesCommand(config: Config, flags: ListFlags): Promise<Outcome> {
  const { all = false } = flags
  const username = flags.username === undefined ? null : usernameGiven(flags.username)
  const limit = /^\d{1,5}$/.test(flags.limit) ? Number(flags.limit) : 0
  if (limit < 1 || limit > limitMax)
    throw usageError(`--limit is a whole number from 1 to ${limitMax}.`)
  return withDatabase(config, async (db) => {
    const workerId = username === null ? null : await findWorkerId(db, username)
    if (username !== null && workerId === null) throw unknownWorker(username)
    const ids =
      workerId !== null
        ? await findWorkerDisputeIds(db, workerId)
        : all
          ? await findLatestDisputeIds(db, limit)
          : await findOpenDisputeIds(db, limit)
    const told = await toldDisputes(db, await findDisputes(db, ids), systemClock())
    const lines = told.map(({ line }) => line)
    return done(
      { ok: true, disputes: told.map(({ report }) => report) },
      lines.length > 0 ? lines : ['There are no disputes.'],
    )
  })
}

export function showDisputeCommand(config: Config, given: string): Promise<Outcome> {
  const id = disputeGiven(given)
  return withDatabase(config, async (db) => {
    const found = await findDisputes(db, [id])
    const [told] = await toldDisputes(db, found, systemClock())
    if (told === undefined) return unknownDispute(id)
    const moves = (await findChanges(db, id)).map(({ state, changedAt, actor }) => ({
      state,
      at: wireTime(changedAt),
      by: actor,
    }))
    const items = found.flatMap((dispute) => dispute.items)
    const { snapshotId, resultingSnapshotId } = told.report
    return done({ ok: true, dispute: { ...told.report, moves } }, [
      told.line,
      `  score then  ${snapshotId ?? 'none'}`,
      ...(told.report.endedAt === null ? [] : [`  score after ${resultingSnapshotId ?? 'none'}`]),
      ...items.map(
        ({ evidenceId, excluded, upheld }) =>
          `  evidence    ${evidenceId}${excluded ? ', set aside' : ''}${upheld ? ', upheld' : ''}`,
      ),
      ...moves.map(({ state, at, by }) => `  ${at}  ${state}, by ${by}`),
    ])
  })
}
