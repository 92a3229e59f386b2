/**
 * The result of a command goes to standard output, progress and messages to standard error. A
 * command fails in one way: `throw failure(…)` or `throw usageError(…)`.
 */
import { createInterface } from 'node:readline/promises'

/** 0: done, or yes. 1: failed, or no. 2: not understood, or not possible to check. */
export type ExitCode = 0 | 1 | 2

export interface Outcome {
  exitCode: ExitCode
  /** With `--json`, the only object on standard output. */
  report: Record<string, unknown>
  /** Without `--json`. */
  lines: readonly string[]
  /** If standard output carries something else. */
  linesTo?: 'stderr'
}

/** The outcome of a command. The report gets the field `ok` first. */
export function done(
  report: Record<string, unknown>,
  lines: readonly string[],
  exitCode: ExitCode = 0,
): Outcome {
  return { exitCode, report: { ok: exitCode === 0, ...report }, lines }
}

export function printOutcome({ report, lines, linesTo }: Outcome, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`)
  else if (lines.length > 0)
    (linesTo === 'stderr' ? process.stderr : process.stdout).write(`${lines.join('\n')}\n`)
}

/** Prints a message to standard error. */
export function note(text: string): void {
  process.stderr.write(`${withoutControls(withoutSecrets(text))}\n`)
}

/**
 * Removes control characters. A message may quote a file or another machine, and must not steer the
 * terminal.
 */
export function withoutControls(text: string): string {
  return text.replace(/[^\P{C}\n\t]+/gu, ' ')
}

/** Hides private keys, and user and password of URLs: messages quote settings. */
export function withoutSecrets(text: string): string {
  return text
    .replace(/:\/\/[^/@\s]*@/g, '://…@')
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*-----)?/g, '[private key]')
}

interface More {
  /** Fields of the `--json` report, beside `ok` and `message`. */
  report?: Record<string, unknown>
  cause?: unknown
}

/** The message says what happened, the value that caused it, and what to do next. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: 1 | 2 | 130
  readonly report: Record<string, unknown>

  constructor(message: string, exitCode: 1 | 2 | 130, { report = {}, cause }: More) {
    super(message, { cause })
    this.exitCode = exitCode
    this.report = report
  }
}

/** The command cannot do what you ask. */
export function failure(message: string, more: More = {}): Failure {
  return new Failure(message, 1, more)
}

/** The command line, or a file that it names, cannot be used as it is. */
export function usageError(message: string, more: More = {}): Failure {
  return new Failure(message, 2, more)
}

/** You pressed Ctrl-C, or the process received SIGTERM. `effect` says what was done until then. */
export function interrupted(effect = 'Nothing was changed.'): Failure {
  return new Failure(`Interrupted. ${effect}`, 130, { report: { interrupted: true } })
}

/** Returns whether the operator typed yes, or null if there is no terminal to ask on. */
export async function askYes(question: string): Promise<boolean | null> {
  if (!process.stdin.isTTY) return null
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(question)
  terminal.close()
  return answer.trim() === 'yes'
}
