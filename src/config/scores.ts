/** Settings: who has a score, and what a dispute does to it. */
import { flag, integer, type Reading, readerOf, type SettingTable, setting } from './setting.ts'

export const scoresSettings = {
  SCORE_EVIDENCE_MIN: setting({
    default: '3',
    unit: 'items',
    effect:
      'A person with fewer items of evidence that count has no score. A change has every score computed again.',
    parse: integer(1, 100),
  }),
  SCORE_GROUPS_MIN: setting({
    default: '2',
    unit: 'groups of sources',
    effect:
      'A person whose evidence comes from fewer independent groups has no score. A change has every score computed again.',
    parse: integer(1, 100),
  }),
  DISPUTE_DUE_DAYS: setting({
    default: '30',
    unit: 'days',
    effect:
      'When a dispute is due, from its opening. One that is late is shown as overdue; nothing else happens.',
    parse: integer(1, 365),
  }),
  DISPUTE_HIDES_SCORE: setting({
    default: 'true',
    unit: 'true or false',
    effect:
      'Whether the public score of a person is hidden while a dispute of theirs is open, unless `--restrict` or `--no-restrict` says so at its opening.',
    parse: flag,
  }),
} as const satisfies SettingTable

export interface ScoresConfig {
  scoreEvidenceMin: number
  scoreGroupsMin: number
  disputeDueDays: number
  disputeHidesScore: boolean
}

export function readScores(reading: Reading): ScoresConfig {
  const { readOr } = readerOf(scoresSettings, reading)
  return {
    scoreEvidenceMin: readOr('SCORE_EVIDENCE_MIN'),
    scoreGroupsMin: readOr('SCORE_GROUPS_MIN'),
    disputeDueDays: readOr('DISPUTE_DUE_DAYS'),
    disputeHidesScore: readOr('DISPUTE_HIDES_SCORE'),
  }
}
