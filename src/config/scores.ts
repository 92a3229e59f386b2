/** Settings of scores and disputes, of credentials, and of agent decision reports. */
import { join } from 'node:path'
import type { RateLimits } from '../edge/http/contract.ts'
import { flag, integer, oneOf, path, type Reading, readerOf, type SettingTable } from './setting.ts'

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

export const credentialsSettings = {
  SIGNING_KEYS_DIR: {
    default: 'keys in the data directory',
    unit: 'folder',
    effect: 'PEM files of the private signing keys; a process that only verifies needs none.',
    parse: path,
  },
  CREDENTIAL_VALIDITY_DAYS: {
    default: '365',
    unit: 'days',
    effect: 'How long a new credential is valid; issued credentials keep their dates.',
    parse: integer(1, 3_650),
  },
  SUPERSEDE_REVOKES: {
    default: 'false',
    unit: 'true or false',
    effect:
      'With true, a new credential of a worker revokes the older one, which otherwise stays valid for its date.',
    parse: flag,
  },
} as const satisfies SettingTable

export function readCredentials(reading: Reading, { dataDir }: { dataDir: string }) {
  const { read, readOr } = readerOf(credentialsSettings, reading)
  return {
    signingKeysDir: read('SIGNING_KEYS_DIR') ?? join(dataDir, 'keys'),
    credentialValidityDays: readOr('CREDENTIAL_VALIDITY_DAYS'),
    supersedeRevokes: readOr('SUPERSEDE_REVOKES'),
  }
}

export const reportsSettings = {
  AGENT_REPORTING_DEFAULT: {
    default: 'unlocked',
    unit: 'locked or unlocked',
    effect: 'With locked, a new account can report only after you run `assay reports unlock`.',
    parse: oneOf('locked', 'unlocked'),
  },
  AGENT_REPORTS_PER_DAY: {
    default: '5000',
    unit: 'reports a day',
    effect: 'Reports of one API key; further reports get 429.',
    parse: integer(1, 100_000_000),
  },
  AGENT_REPORTS_DAYS: {
    default: '730',
    unit: 'days',
    effect: 'How long reports are kept; their idempotency keys stay used for ever.',
    parse: integer(1, 36_500),
  },
} as const satisfies SettingTable

export function readReports(reading: Reading, { keyLimits }: { keyLimits: RateLimits }) {
  const { readOr } = readerOf(reportsSettings, reading)
  return {
    agentReportingDefault: readOr('AGENT_REPORTING_DEFAULT'),
    agentReportLimits: { ...keyLimits, perDay: readOr('AGENT_REPORTS_PER_DAY') },
    agentReportsDays: readOr('AGENT_REPORTS_DAYS'),
  }
}
