/** `assay keys rotate`: the oldest pending key signs from now on, the present one only verifies. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { readSigners } from '../score-credentials/key-files.ts'
import { type Rotation, rotateKeysInside } from '../score-credentials/rotate-keys.ts'
import { done, type Outcome } from './output.ts'
import { withDatabase } from './with-database.ts'

export function rotateKeysCommand(config: Config, flags: { now?: boolean }): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const signers = await readSigners(config.signingKeysDir)
    const atOnce = flags.now ?? false
    const rotation = await db.transaction((tx) => rotateRecorded(tx, systemClock(), atOnce))
    if (rotation.outcome === 'no_pending_key')
      return done({ ok: false, ...rotation }, ['There is no pending key: `assay keys create`.'], 1)
    if (rotation.outcome === 'too_early') {
      const readyAt = wireTime(rotation.readyAt)
      return done(
        { ok: false, outcome: rotation.outcome, readyAt },
        [
          `Too early: verifiers that keep our key document may not know the new key before ${readyAt}.`,
          'Wait until then, or say --now and accept that they refuse what it signs until then.',
        ],
        1,
      )
    }
    const { active, retired } = rotation
    const lines = [`${active} signs from now on.`]
    if (retired !== null) lines.push(`${retired} is retired: what it signed keeps verifying.`)
    if (!signers.has(active))
      lines.push(`Its file is not in ${config.signingKeysDir}: this machine cannot sign with it.`)
    return done({ ok: true, ...rotation, signsHere: signers.has(active) }, lines)
  })
}

async function rotateRecorded(tx: Tx, now: Date, atOnce: boolean): Promise<Rotation> {
  const rotation = await rotateKeysInside(tx, now, { atOnce })
  if (rotation.outcome !== 'rotated') return rotation
  const { active, retired } = rotation
  const subjects = retired === null ? [active] : [active, retired]
  const details = { active, retired, atOnce }
  await recordAction(tx, { actor: operator(), action: 'keys.rotated', subjects, details }, now)
  return rotation
}
