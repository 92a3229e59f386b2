/** `assay audit verify`: 0 the log is whole, 1 it is not, and where it first breaks; 2 it could not be checked. */
import { type Verification, verifyLog } from '../audit/verify.ts'
import type { Config } from '../config/config.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'

export function verifyAuditCommand(config: Config, flags: { expect?: string }): Promise<Outcome> {
  const expected = flags.expect?.trim().toLowerCase() ?? null
  if (expected !== null && !/^[0-9a-f]{64}$/.test(expected))
    throw usageError('--expect takes the head that an earlier run printed: 64 hex characters.')
  return withDatabase(config, async (db) => outcomeOf(await verifyLog(db, { expected })))
}

function outcomeOf(verification: Verification): Outcome {
  if (!verification.whole) {
    const { seq, reason } = verification.broken
    const lines = [
      `BROKEN at entry ${seq}: ${reason}.`,
      'Up to there the log is as it was written; behind it nothing is certain.',
    ]
    return done({ ok: false, broken: { seq, reason } }, lines, 1)
  }
  const { head, since } = verification
  const lines = [`whole: ${head.seq} entries`, `head ${head.hash}`]
  if (since === null) lines.push('Keep the head elsewhere: `--expect` then finds an end cut off.')
  else lines.push(`The expected entry is there, ${since} came after it.`)
  return done({ ok: true, entries: head.seq, head: head.hash, since }, lines)
}
