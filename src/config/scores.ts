/** Settings of scores and disputes. */
import { flag, integer, type Reading, readerOf, type SettingTable } from './setting.ts'

export const scoresSettings = {
  SCORE_GROUPS_MIN: {
    default: '2',
    unit: 'sources',
    effect:
      'A worker whose score has fewer independent sources has no published score; a change recomputes every score.',
    parse: integer(1, 100),
  },
  DISPUTE_DUE_DAYS: {
    default: '30',
    unit: 'days',
    effect: 'Time from the opening of a dispute until it is shown as overdue.',
    parse: integer(1, 365),
  },
  DISPUTE_HIDES_SCORE: {
    default: 'true',
    unit: 'true or false',
    effect:
      'With true, an open dispute hides the public score of its worker, unless you open it with `--no-restrict`.',
    parse: flag,
  },
} as const satisfies SettingTable

export function readScores(reading: Reading) {
  const { readOr } = readerOf(scoresSettings, reading)
  return {
    scoreGroupsMin: readOr('SCORE_GROUPS_MIN'),
    disputeDueDays: readOr('DISPUTE_DUE_DAYS'),
    disputeHidesScore: readOr('DISPUTE_HIDES_SCORE'),
  }
}
