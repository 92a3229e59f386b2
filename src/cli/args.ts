/**
 * Parsing of every argument and option. A parser returns the value or throws
 * `InvalidArgumentError`; commander names the argument and the text in front of its message.
 */
import { InvalidArgumentError } from 'commander'
import { isMonth } from '../billing/credits/months.ts'
import { faultOfText } from '../workers/profile.ts'
import { usernamePattern } from '../workers/username.ts'

type Parser<Value> = (text: string) => Value

/** Parses the values of an argument that takes several, each by `parse`. */
export function each<Value>(parse: Parser<Value>) {
  return (text: string, before: readonly Value[] = []): Value[] => [...before, parse(text)]
}

/** Parses one of a closed list of words. */
export function oneOf<const Words extends readonly string[]>(words: Words): Parser<Words[number]> {
  return (text) =>
    words.find((word) => word === text) ??
    invalid(`Use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`)
}

export function wholeNumber(min: number, max: number): Parser<number> {
  return (text) => {
    const number = /^[+-]?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    return invalid(`Use a whole number from ${min} to ${max}.`)
  }
}

/** Parses the id of a signing key, or a verification method that ends with it. */
export function parseKid(text: string): string {
  return text.slice(text.indexOf('#') + 1)
}

/** Parses 64 hex characters into lowercase. */
export function parseSha256(text: string): string {
  return /^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : invalid('Use 64 hex characters.')
}

const usernameForm = new RegExp(usernamePattern)

/** Parses a username, with or without a leading `@`. */
function parseUsername(text: string): string {
  const username = text.startsWith('@') ? text.slice(1) : text
  if (usernameForm.test(username)) return username
  return invalid(
    'Use 3 to 30 of the characters a-z, 0-9, _ and -, with a letter or digit at both ends.',
  )
}

/** Parses the name of the operator that a change keeps. */
function parseActor(text: string): string {
  const fault = faultOfText('--by', text, { max: 200 })
  return fault === null ? text : invalid(`The name ${fault.reason}.`)
}

/** Parses an address that begins with http:// or https://. */
export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  return invalid('Use an address, such as https://scores.example.org.')
}

/** Parses a month in UTC, such as `2026-05`. */
export function parseMonth(text: string): string {
  return isMonth(text) ? text : invalid('Use a month, such as 2026-05.')
}

function invalid(message: string): never {
  throw new InvalidArgumentError(message)
}

export const accountOption = ['--account <account>', 'name or id of the account'] as const

export const usernameArgument = ['<username>', 'with or without @', parseUsername] as const

export const byOption = [
  '--by <name>',
  'your name, kept with the change',
  parseActor,
  'operator',
] as const

export const formatOption = [
  '--format <format>',
  'ndjson or csv (default: csv for a file named .csv, else ndjson)',
] as const
