/** Reads settings that may hold a password or a key from files, which `NAME_FILE` names. */
import { readFileSync } from 'node:fs'
import type { SettingTable } from './setting.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface SecretFile {
  name: string
  path: string
}

/** Returns the files that the environment names for confidential settings. */
export function secretFilesOf(env: Env, tables: readonly SettingTable[]): SecretFile[] {
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
export function withSecretFiles(
  env: Env,
  tables: readonly SettingTable[],
  problems: string[],
): Env {
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
