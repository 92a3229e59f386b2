/** Declares commands, runs them, and prints what they return or why they failed. */
import { type Command, CommanderError } from 'commander'
import { ConfigError } from '../config/config.ts'
import { UnavailableError } from '../platform/errors.ts'
import {
  type ExitCode,
  Failure,
  note,
  type Outcome,
  printOutcome,
  withoutSecrets,
} from './output.ts'

/** Declares a command. `example` is shown by its `--help`. */
export function command(
  parent: Command,
  name: string,
  description: string,
  example: string,
): Command {
  return finish(parent.command(name).description(description), example)
}

/** Adds the options and the help that every command has. */
export function finish(declared: Command, example: string): Command {
  return declared
    .option('--json', 'one JSON object on standard output')
    .addHelpText('after', `\nExample:\n  ${example}`)
}

interface Running {
  /** The exit code of a failure that names none. */
  failureCode?: 1 | 2
}

/**
 * Returns the action of a command: it calls `work` with the parsed arguments and the options, and
 * prints the outcome.
 */
export function act(
  work: (...args: never[]) => Promise<Outcome>,
  { failureCode = 1 }: Running = {},
) {
  return async (...given: unknown[]): Promise<void> => {
    // Commander adds the command itself as the last argument.
    const args = given.slice(0, -1)
    const { json = false } = args.at(-1) as { json?: boolean }
    try {
      const outcome = await work(...(args as never[]))
      printOutcome(outcome, json)
      process.exitCode = outcome.exitCode
    } catch (error) {
      reportFailure(error, { json, failureCode })
    }
  }
}

/** Prints why a command failed. The stack is shown only with LOG_LEVEL=debug. */
export function reportFailure(
  error: unknown,
  { json, failureCode = 1 }: Running & { json: boolean },
): void {
  const message = withoutSecrets(messageOf(error))
  // Commander has printed its own message already.
  if (!(error instanceof CommanderError)) note(`assay: ${message}`)
  if (process.env.LOG_LEVEL === 'debug' && error instanceof Error) note(stackOf(error))
  const report = error instanceof Failure ? error.report : {}
  if (json)
    printOutcome({ exitCode: 1, report: { ok: false, message, ...report }, lines: [] }, true)
  process.exitCode = exitCodeOf(error, failureCode)
}

export function exitCodeOf(error: unknown, failureCode: 1 | 2): ExitCode | 130 {
  if (error instanceof ConfigError || error instanceof CommanderError) return 2
  return error instanceof Failure && error.exitCode !== 1 ? error.exitCode : failureCode
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof UnavailableError) {
    const why = causeOf(error) ?? 'no answer'
    const remedy = remedyOf(why, 'DATABASE_URL') ?? 'Check DATABASE_URL'
    return `${error.message}: ${why}. ${remedy}, or run \`assay doctor\`.`
  }
  return fileFault(error) ?? (error.message || (causeOf(error) ?? error.name))
}

const fileFaults: Readonly<Record<string, string>> = {
  EROFS: 'is on a read-only file system',
  EACCES: 'is closed to the user of this process',
  ENOSPC: 'is on a full disk',
  EMFILE: 'cannot be opened, because this process has too many open files: raise `ulimit -n`',
}

/** Returns what is wrong with the file that the error names, or null if it is another error. */
export function fileFault(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return null
  const fault = fileFaults[String(error.code)]
  return fault === undefined ? null : `${String(error.path)} ${fault} (${String(error.code)}).`
}

/** Returns what to look at first if the database of `setting` fails for this reason, or null. */
export function remedyOf(why: string, setting: string): string | null {
  // The log of an embedded PostgreSQL that cannot start quotes the same words.
  if (why.includes('No space left on device')) return 'Make room on the disk of PostgreSQL'
  // Other words about certificates are about that of the client, or about pg_hba.conf.
  return /certificate has expired|self-signed|unable to verify|local issuer/.test(why)
    ? `Check ${setting}: the certificate of PostgreSQL, and sslrootcert`
    : null
}

/**
 * A host with several addresses fails with one error for each, and an empty message around them.
 */
function causeOf({ cause }: Error): string | null {
  if (cause instanceof AggregateError && cause.errors.length > 0)
    return cause.errors.map((error) => messageOf(error)).join('; ')
  return cause instanceof Error ? messageOf(cause) : null
}

function stackOf(error: Error): string {
  const { stack = '', cause } = error
  return cause instanceof Error ? `${stack}\ncaused by ${stackOf(cause)}` : stack
}
