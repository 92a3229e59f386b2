/** Settings: users and their sessions. */
import { integer, type Reading, readerOf, type SettingTable, setting } from './setting.ts'

export const accountsSettings = {
  SESSION_IDLE_DAYS: setting({
    default: '7',
    unit: 'days',
    effect: 'A session that is not used for so long ends.',
    parse: integer(1, 365),
  }),
  SESSION_DAYS: setting({
    default: '30',
    unit: 'days',
    effect: 'A session ends after so long, however often it is used.',
    parse: integer(1, 365),
  }),
} as const satisfies SettingTable

export interface AccountsConfig {
  sessions: { idleDays: number; days: number }
}

export function readAccounts(reading: Reading): AccountsConfig {
  const { readOr } = readerOf(accountsSettings, reading)
  return { sessions: { idleDays: readOr('SESSION_IDLE_DAYS'), days: readOr('SESSION_DAYS') } }
}
