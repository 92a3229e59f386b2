/** The result of a command goes to standard output, progress and messages to standard error. */

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
