/**
 * The checks of `assay doctor` on the running processes: whether background work is done, which
 * work waits, and which releases run.
 */
import { findKeys } from '../credentials/api.ts'
import { countAbilities, type SharedCheck } from '../health/processes.ts'
import { readSurvey, type Survey } from '../health/survey.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Queryable } from '../platform/db/db.ts'
import { findSealedSamples } from '../webhooks/api.ts'
import { about, type Finding } from './doctor-finding.ts'

export async function checkProcesses(db: Queryable): Promise<Finding[]> {
  const survey = await readSurvey(db, systemClock())
  return [checkLive(survey), ...(await checkJobs(db, survey)), ...checkBacklog(survey)]
}

function checkLive({ live, releases }: Survey): Finding {
  const { ok } = about('processes')
  if (live.length === 0) return ok('none runs')
  const { serve, jobs } = countAbilities(live)
  return ok(
    `${serve} serve requests, ${jobs} run background jobs; release ${releases.join(' and ')}`,
  )
}

/** Returns no finding if nothing runs: then the service is stopped. */
async function checkJobs(db: Queryable, { live, lastWithJobs, jobs }: Survey): Promise<Finding[]> {
  const { ok, warn, fail } = about('jobs' satisfies SharedCheck)
  if (live.length === 0) return []
  const working = live.filter((one) => one.jobs !== null)
  if (working.length === 0) {
    const since = lastWithJobs === null ? '' : ` since ${wireTime(lastWithJobs.seenAt)}`
    return [
      fail(
        `no process runs background jobs${since}, so no score is computed and no webhook is sent: start \`assay jobs\`, or \`assay serve\` without --no-jobs.`,
      ),
    ]
  }
  const findings: Finding[] = []
  const active = (await findKeys(db)).find(({ state }) => state === 'active')
  if (active !== undefined && working.every(({ signs }) => !signs))
    findings.push(
      fail(
        `no process with background jobs holds the file of the active signing key ${active.kid}, so nothing is issued and no status list is renewed: copy it to the machine of \`assay jobs\`.`,
      ),
    )
  if (working.every(({ opensSecrets }) => !opensSecrets)) {
    const [sample] = await findSealedSamples(db)
    if (sample !== undefined)
      findings.push(
        fail(
          `no process with background jobs holds a keyring, so no webhook is sent: set SECRETS_KEYRING for \`assay jobs\`.`,
        ),
      )
  }
  for (const { name, succeededAt, error, isLate } of jobs) {
    const last =
      succeededAt === null ? 'has not succeeded yet' : `last succeeded ${wireTime(succeededAt)}`
    if (isLate || error !== null)
      findings.push((isLate ? fail : warn)(`${name}: ${last}${error === null ? '' : `. ${error}`}`))
  }
  if (findings.length > 0) return findings
  const oldest = jobs.flatMap((job) => job.succeededAt ?? []).sort((a, b) => +a - +b)[0]
  return [
    ok(`${jobs.length} succeed${oldest === undefined ? '' : `, the rarest ${wireTime(oldest)}`}`),
  ]
}

function checkBacklog({ backlog, at }: Survey): Finding[] {
  const { ok, warn, fail } = about('backlog')
  const { scoreDueSince, mailsWaiting, disputesOverdue, apiKeysEnding, booksDiffering } = backlog
  const findings: Finding[] = []
  if (booksDiffering > 0)
    findings.push(
      fail(
        `accounts that are suspended, because the balance is not the sum of the entries: ${booksDiffering}. See \`assay credits audit\`.`,
      ),
    )
  if (scoreDueSince !== null && at.getTime() - scoreDueSince.getTime() > scoreDueMsMax)
    findings.push(warn(`workers wait to be scored since ${wireTime(scoreDueSince)}.`))
  if (disputesOverdue > 0)
    findings.push(warn(`overdue disputes: ${disputesOverdue}. See \`assay disputes list\`.`))
  if (findings.length > 0) return findings
  return [ok(`waiting mails: ${mailsWaiting}; API keys that end within 7 days: ${apiKeysEnding}`)]
}

/** The engine scores hundreds of workers a second; a large import takes minutes. */
const scoreDueMsMax = 600_000
