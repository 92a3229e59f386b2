/** `assay evidence revoke`: what is revoked stays so, and a second run changes nothing. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { type RevocationReason, revocationReasons } from '../evidence/schema.ts'
import { systemClock } from '../platform/clock.ts'
import { type RevokedWithScores, revokeAndRescore } from '../scores/revoke-evidence.ts'
import { withDatabase } from './context.ts'
import { evidenceIdsOf, evidenceNameOf } from './evidence-names.ts'
import { usageError } from './fail.ts'
import { note, type Outcome } from './output.ts'
import { actorGiven } from './person.ts'
import { scoringIfAny } from './scoring-here.ts'

export interface EvidenceRevokeFlags {
  reason: string
  by: string
}

/** `names` are ids, or `SOURCE/EXTERNAL-ID`. All of them are revoked in one transaction. */
export function revokeEvidenceCommand(
  config: Config,
  names: readonly string[],
  flags: EvidenceRevokeFlags,
): Promise<Outcome> {
  const reason = reasonOf(flags.reason)
  const actor = actorGiven(flags.by)
  const asked = names.map(evidenceNameOf)
  return withDatabase(config, async (db) => {
    const scoring = await scoringIfAny(config, db)
    const { revoked, alreadyRevoked, notFound, scored } = await db.transaction(async (tx) => {
      const { ids, unknown } = await evidenceIdsOf(tx, asked)
      const now = systemClock()
      const revocation = { reason, actor, now }
      const answer: RevokedWithScores = await revokeAndRescore(tx, scoring, ids, revocation)
      const done = {
        action: 'evidence.revoked',
        subjects: answer.revoked,
        details: { reason },
      } as const
      if (answer.revoked.length > 0) await recordAction(tx, { ...done, actor: operator() }, now)
      return { ...answer, notFound: [...answer.notFound, ...unknown] }
    })
    for (const name of notFound) note(`not found: ${name}`)
    const ok = notFound.length === 0
    const rescored = scored.map(({ workerId, outcome, snapshot }) => ({
      workerId,
      outcome,
      snapshotId: snapshot?.snapshotId.toString('hex') ?? null,
    }))
    const counts = `${revoked.length} revoked, ${alreadyRevoked.length} had been revoked, ${notFound.length} not found`
    return {
      exitCode: ok ? 0 : 1,
      report: { ok, revoked, alreadyRevoked, notFound, rescored },
      lines: [
        counts,
        ...rescored.map(({ workerId, outcome }) => `score of ${workerId}: ${outcome}`),
      ],
    }
  })
}

function reasonOf(text: string): RevocationReason {
  const reason = revocationReasons.find((known) => known === text)
  if (reason === undefined) throw usageError(`--reason is one of ${revocationReasons.join(', ')}`)
  return reason
}
