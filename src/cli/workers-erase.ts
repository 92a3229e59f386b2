/** `assay workers erase`: for ever, and in one transaction. */
import { createInterface } from 'node:readline'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import type { Tx } from '../platform/db/db.ts'
import { type Erased, eraseWorker } from '../privacy/erase-worker.ts'
import { type ErasureReason, erasureReasons } from '../privacy/reasons.ts'
import { withDatabase } from './context.ts'
import { failure, unknownWorker, usageError } from './fail.ts'
import { done, note, type Outcome } from './output.ts'
import { actorGiven, usernameGiven } from './person.ts'

export interface EraseFlags {
  reason: string
  yes?: boolean
  by: string
}

export async function eraseWorkerCommand(
  config: Config,
  given: string,
  flags: EraseFlags,
): Promise<Outcome> {
  const username = usernameGiven(given)
  const reason = reasonOf(flags.reason)
  const by = actorGiven(flags.by)
  if (flags.yes !== true) await confirm(username)
  return withDatabase(config, async (db) => {
    const erased = await db.transaction(async (tx) => {
      const at = systemClock()
      const one = await eraseWorker(tx, username, { by, at })
      if (one !== null) await recordErasure(tx, one, { reason, at })
      return one
    })
    if (erased === null) throw unknownWorker(username)
    const { credentialsErased, evidenceErased, reportsErased } = erased
    return done({ ok: true, ...erased }, [
      `${username} is erased: ${counted(evidenceErased, 'item')} of evidence and ${counted(reportsErased, 'report')} gone, ${counted(credentialsErased, 'credential')} revoked and gone.`,
      'Backups that you keep still hold the person: docs/privacy.md says what to do.',
    ])
  })
}

function reasonOf(text: string): ErasureReason {
  const reason = erasureReasons.find((known) => known === text)
  if (reason === undefined) throw usageError(`--reason is one of ${erasureReasons.join(', ')}`)
  return reason
}

/** Reads one line. If standard input ends before it, nothing is erased and the exit code is 2. */
async function confirm(username: string): Promise<void> {
  note(
    `All that is stored about ${username} will be gone, for ever: no credential, score, evidence or report of them is left, and nobody gets the username again.`,
  )
  note('Type the username to go ahead:')
  const lines = createInterface({ input: process.stdin })
  let answered: string | null = null
  try {
    for await (const line of lines) {
      answered = line.trim()
      if (answered === username) return
      break
    }
  } finally {
    lines.close()
    process.stdin.destroy()
  }
  if (answered === null)
    throw usageError(
      'You cannot be asked: standard input is not a terminal. Nothing was changed. Pass --yes to erase without a question.',
    )
  throw failure('That is not the username. Nothing was changed.')
}

async function recordErasure(
  tx: Tx,
  { workerId, ...counts }: Erased,
  { reason, at }: { reason: ErasureReason; at: Date },
): Promise<void> {
  const done = { subjects: [workerId], details: { reason, ...counts } }
  await recordAction(tx, { ...done, action: 'workers.erased', actor: operator() }, at)
}
