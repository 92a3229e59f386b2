/** Runs one command: prints its outcome, or what went wrong in one line, and sets the exit code. */
import { CommanderError } from 'commander'
import { ConfigError } from '../config/config.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { type ExitCode, note, type Outcome, printOutcome, withoutSecrets } from './output.ts'

/** The command line, or a file it names, cannot be used as it is. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command cannot do what it should; the message says what to do instead. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** The operator's Ctrl-C, or SIGTERM. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

export interface RunOptions {
  json: boolean
  /** The exit code of a failure; 1 unless given. */
  failure?: ExitCode
}

export async function run(command: () => Promise<Outcome>, options: RunOptions): Promise<void> {
  try {
    const outcome = await command()
    printOutcome(outcome, options.json)
    process.exitCode = outcome.exitCode
  } catch (error) {
    reportFailure(error, options)
  }
}

/** Never with a stack, unless LOG_LEVEL is debug; never with a secret. */
export function reportFailure(error: unknown, { json, failure = 1 }: RunOptions): void {
  const isUsage =
    error instanceof ConfigError || error instanceof UsageError || error instanceof CommanderError
  const message = withoutSecrets(messageOf(error))
  // Commander has said by itself what is wrong with the command line.
  if (!(error instanceof CommanderError)) note(`assay: ${message}`)
  if (process.env.LOG_LEVEL === 'debug' && error instanceof Error) note(stackOf(error))
  if (json) printOutcome({ exitCode: 1, report: { ok: false, message }, lines: [] }, true)
  process.exitCode = isUsage ? 2 : error instanceof Interrupted ? 130 : failure
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof UnavailableError)
    return `${error.message}: ${causeOf(error) ?? 'no answer'}. Check DATABASE_URL, or run \`assay doctor\`.`
  return error.message || (causeOf(error) ?? error.name)
}

/** A host with several addresses fails with one error for each, and an empty message around them. */
function causeOf({ cause }: Error): string | null {
  if (cause instanceof AggregateError && cause.errors.length > 0)
    return cause.errors.map((error) => messageOf(error)).join('; ')
  return cause instanceof Error ? messageOf(cause) : null
}

function stackOf(error: Error): string {
  const { stack = '', cause } = error
  return cause instanceof Error ? `${stack}\ncaused by ${stackOf(cause)}` : stack
}
