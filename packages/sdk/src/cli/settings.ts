/** The settings that `assay-client login` stores for this user alone: the address and the key. */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface Settings {
  baseUrl?: string
  apiKey?: string
}

function settingsFolder(): string {
  const { XDG_CONFIG_HOME: config } = process.env
  return join(config === undefined || config === '' ? join(homedir(), '.config') : config, 'assay')
}

/** The variables ASSAY_URL and ASSAY_API_KEY take precedence over what is stored. */
export function readSettings(): Settings {
  const { ASSAY_URL: baseUrl, ASSAY_API_KEY: apiKey } = process.env
  return {
    ...readStored<Settings>('client.json'),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
  }
}

export function readStored<Value extends object>(name: string): Partial<Value> {
  const file = join(settingsFolder(), name)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw new Error(`${file} cannot be read: remove it and log in again.`, { cause: error })
  }
}

/** Replaces the file as a whole, so that a crash leaves the old or the new one. */
export function store(name: string, value: object): string {
  const folder = settingsFolder()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, name)
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(value)}\n`, { mode: 0o600 })
  chmodSync(fresh, 0o600)
  renameSync(fresh, file)
  return file
}
