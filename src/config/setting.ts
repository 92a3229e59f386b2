/** Defines a setting, the parsers of values, and the reader of a table of settings. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseNetwork } from '../platform/networks.ts'

export interface Setting<Value> {
  /** The default in the form that operators read; empty if there is none. */
  default: string
  unit: string
  /** The effect and the consequence of the setting, for the operator. */
  effect: string
  /** The value may hold a password or a key, so problems do not quote it. */
  confidential?: true
  /** Throws an `Error` whose message completes "NAME must be …". */
  parse(text: string): Value
}

export type SettingTable = Readonly<Record<string, Setting<unknown>>>

/** The environment, and the list of its problems, one line each. */
export interface Reading {
  env: Readonly<Record<string, string | undefined>>
  problems: string[]
}

type Value<Table extends SettingTable, N extends keyof Table> = ReturnType<Table[N]['parse']>

export interface SettingsReader<Table extends SettingTable> {
  /** Returns undefined if the variable is absent, empty or not valid. */
  read<N extends keyof Table & string>(name: N): Value<Table, N> | undefined
  /** Like `read`, but returns the default instead of undefined. */
  readOr<N extends keyof Table & string>(name: N): Value<Table, N>
}

export function readerOf<Table extends SettingTable>(
  table: Table,
  { env, problems }: Reading,
): SettingsReader<Table> {
  function parse<N extends keyof Table>(name: N, text: string): Value<Table, N> {
    return table[name]?.parse(text) as Value<Table, N>
  }
  function read<N extends keyof Table & string>(name: N): Value<Table, N> | undefined {
    const text = env[name]
    if (text === undefined || text === '') return undefined
    try {
      return parse(name, text)
    } catch (error) {
      const is = table[name]?.confidential ? '' : `; it is ${JSON.stringify(text)}`
      problems.push(`${name} must be ${(error as Error).message}${is}`)
      return undefined
    }
  }
  function readOr<N extends keyof Table & string>(name: N): Value<Table, N> {
    const value = read(name)
    return value === undefined ? parse(name, table[name]?.default ?? '') : value
  }
  return { read, readOr }
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max)) throw new Error(`a whole number from ${min} to ${max}`)
    return value
  }
}

export function oneOf<Choice extends string>(
  ...choices: readonly Choice[]
): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text)
    if (choice === undefined) throw new Error(`one of ${choices.join(', ')}`)
    return choice
  }
}

export function list(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

export function originUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.origin !== text.replace(/\/$/, '')
  )
    throw new Error(
      'an origin such as https://scores.example.org: in lowercase, without path, query or default port',
    )
  return url.origin
}

export function networks(text: string): string[] {
  const items = list(text)
  for (const item of items) {
    if (parseNetwork(item) === null)
      throw new Error('addresses or CIDR networks, separated by commas')
    if (item.endsWith('/0'))
      throw new Error(
        'your own networks: a network of all addresses lets callers choose their address',
      )
  }
  return items
}

export function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hash !== '')
    throw new Error('an http or https URL')
  return text.replace(/\/$/, '')
}

/** A URL for people to write to: `https:` or `mailto:`. */
export function contactUrl(text: string): string {
  if (!/^(https:\/\/|mailto:)[!-~]+$/.test(text)) throw new Error('an https: or mailto: URL')
  return text
}

export function host(text: string): string {
  if (isIP(text) === 0 && !/^(?!-)[\w-]{1,63}(\.[\w-]{1,63})*$/.test(text))
    throw new Error('an IP address or a host name')
  return text
}

export function flag(text: string): boolean {
  return oneOf('true', 'false')(text) === 'true'
}

export function path(text: string): string {
  return resolve(text)
}
