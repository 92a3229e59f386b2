/**
 * Reads all settings. Each file of this folder is one area: its table gives unit, default and
 * consequence of each setting, and its reader converts them. `npm run generate` writes the tables
 * of `docs/configure.md` from these. All errors are reported at once, before anything is opened.
 */
import { readFileSync } from 'node:fs'
import { accessSettings, readAccess } from './access.ts'
import { accountsSettings, readAccounts } from './accounts.ts'
import { credentialsSettings, readCredentials } from './credentials.ts'
import { observabilitySettings, readObservability } from './observability.ts'
import { readReports, reportsSettings } from './reports.ts'
import { readScores, scoresSettings } from './scores.ts'
import { readServing, servingSettings } from './serving.ts'
import type { Reading, SettingTable } from './setting.ts'
import { readStorage, storageSettings } from './storage.ts'
import { readWebhooks, webhooksSettings } from './webhooks.ts'
import { readX402, x402Settings } from './x402.ts'

/** The tables, by their heading in `docs/configure.md`. */
export const settingAreas: Readonly<Record<string, SettingTable>> = {
  Serving: servingSettings,
  Storage: storageSettings,
  'Logs and metrics': observabilitySettings,
  Credentials: credentialsSettings,
  'Scores and disputes': scoresSettings,
  'API keys and credits': accessSettings,
  'Users and sessions': accountsSettings,
  'Payments with x402': x402Settings,
  Webhooks: webhooksSettings,
  'Agent decision reports': reportsSettings,
}

export type Config = ReturnType<typeof readConfig>

/** Holds every problem of the settings, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: string[]

  constructor(problems: string[]) {
    super(`The settings are not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

const settingTables = Object.values(settingAreas)

/** Returns the files of secrets that the environment names, such as `DATABASE_URL_FILE`. */
export function namedSecretFiles(env: Record<string, string | undefined>): SecretFile[] {
  return secretFilesOf(env, settingTables)
}

/**
 * Reads the settings. Throws `ConfigError` with every problem at once. An empty variable counts as
 * absent.
 */
export function readConfig(env: Record<string, string | undefined>) {
  const problems: string[] = []
  const reading: Reading = { env: withSecretFiles(env, settingTables, problems), problems }
  const storage = readStorage(reading)
  const access = readAccess(reading)
  const config = {
    ...readServing(reading),
    ...storage,
    ...readObservability(reading),
    ...readCredentials(reading, storage),
    ...readScores(reading),
    ...access,
    ...readAccounts(reading),
    ...readX402(reading, access),
    ...readWebhooks(reading),
    ...readReports(reading, access),
  }
  if (reading.problems.length > 0) throw new ConfigError(reading.problems)
  return config
}

type Env = Readonly<Record<string, string | undefined>>

export interface SecretFile {
  name: string
  path: string
}

/** Returns the files that the environment names for confidential settings. */
function secretFilesOf(env: Env, tables: readonly SettingTable[]): SecretFile[] {
  return tables
    .flatMap((table) => Object.entries(table))
    .flatMap(([name, { confidential = false }]) => {
      const path = env[`${name}_FILE`]
      return confidential && path !== undefined && path !== '' ? [{ name, path }] : []
    })
}

/**
 * Returns the environment with the text of each file as the value of its setting, without the line
 * end. An empty file is a problem: for an absent value, many settings have a harmless default.
 */
function withSecretFiles(env: Env, tables: readonly SettingTable[], problems: string[]): Env {
  const values = secretFilesOf(env, tables).flatMap(({ name, path }) => {
    const must = `${name}_FILE must be a file that holds the value of ${name}; ${JSON.stringify(path)}`
    if ((env[name] ?? '') !== '') {
      problems.push(`${name} and ${name}_FILE are both set. Keep one of them.`)
      return []
    }
    try {
      const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
      if (text === '') problems.push(`${must} is empty`)
      return [[name, text]]
    } catch (error) {
      problems.push(`${must} cannot be read (${(error as NodeJS.ErrnoException).code})`)
      return []
    }
  })
  return { ...env, ...Object.fromEntries(values) }
}
