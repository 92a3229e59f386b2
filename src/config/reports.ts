/** Settings of agent decision reports. */
import type { RateLimits } from '../edge/http/contract.ts'
import { integer, oneOf, type Reading, readerOf, type SettingTable } from './setting.ts'

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
