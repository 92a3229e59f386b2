/** `assay scores show`: every score that a person has and had, the newest first. */
import type { Config } from '../config/config.ts'
import { wireTime } from '../platform/clock.ts'
import { findHistory, type ScoreInHistory } from '../scores/history-store.ts'
import { findWorkers } from '../workers/store.ts'
import { withDatabase } from './context.ts'
import { unknownWorker } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'

export function showScoresCommand(config: Config, given: string): Promise<Outcome> {
  const username = usernameGiven(given)
  return withDatabase(config, async (db) => {
    const [person] = await findWorkers(db, { usernames: [username] })
    if (person === undefined) throw unknownWorker(username)
    const scores = await findHistory(db, person.workerId)
    const lines = scores.length === 0 ? [`${username} has no score.`] : scores.map(line)
    return done({ ok: true, username, scores: scores.map(told) }, lines)
  })
}

function told({ snapshotId, vcSha256, issuedAt, endedAt, ...score }: ScoreInHistory) {
  return {
    snapshotId: snapshotId.toString('hex'),
    ...score,
    issuedAt: wireTime(issuedAt),
    endedAt: endedAt === null ? null : wireTime(endedAt),
    scoreVcSha256: vcSha256?.toString('hex') ?? null,
  }
}

function line(one: ScoreInHistory): string {
  const { score, low, high, band, state, change, reason, engineVersion, issuedAt } = one
  const why = reason === null ? change : `${change}, ${reason}`
  const shared = one.vcSha256 === null ? 'no credential' : 'credential'
  return `${one.snapshotId.toString('hex')}  ${wireTime(issuedAt)}  ${score} [${low}, ${high}] ${band}  ${state} (${why})  engine ${engineVersion}  ${shared}`
}
