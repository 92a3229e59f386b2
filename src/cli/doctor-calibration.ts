/** The check of `assay doctor` on scores: whether their ranges cover the results that came later. */
import type { Config } from '../config/config.ts'
import { openServices } from '../main/operation-services.ts'
import { systemClock } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import type { Db } from '../platform/db/db.ts'
import { recentCalibration } from '../scoring/scores/reports/measure-operations.ts'
import type { CalibrationRow } from '../scoring/scores/reports/reliability.ts'
import { about, type Finding } from './doctor-finding.ts'

const check = 'calibration'

/** Returns no finding if the engine is refused: another check says so. */
export async function checkCalibration(db: Db, config: Config): Promise<Finding[]> {
  const rules = await openServices(config).scoringRules()
  if ('refusal' in rules) return []
  return [calibrationFinding(await recentCalibration(db, rules, systemClock()))]
}

export function calibrationFinding(rows: readonly CalibrationRow[]): Finding {
  const { ok, warn } = about(check)
  const low = rows.filter((row) => row.low === true)
  if (low.length === 0)
    return ok(
      `${counted(rows[0]?.compared ?? 0, 'result')} compared with the range that other groups gave`,
    )
  const named = low.map(({ by, name, inside }) => {
    const percent = `${((inside ?? 0) * 100).toFixed(1)} %`
    return by === 'all' ? percent : `${percent} (${by} ${name})`
  })
  return warn(
    `ranges cover fewer than 93 % of later results: ${named.join(', ')}. See \`assay scores reliability\` and \`assay sources report\`.`,
  )
}
