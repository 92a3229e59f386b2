/** What a command says: its result goes to standard output, progress and messages to standard error. */

/** 0: done, or yes. 1: failed, or no. 2: used wrongly, or could not be checked. */
export type ExitCode = 0 | 1 | 2

export interface Outcome {
  exitCode: ExitCode
  /** With --json: the one object on standard output. */
  report: Record<string, unknown>
  /** Without --json: for a person. */
  lines: readonly string[]
  /** Where standard output carries something else. */
  linesTo?: 'stderr'
}

export function done(
  report: Record<string, unknown>,
  lines: readonly string[],
  exitCode: ExitCode = 0,
): Outcome {
  return { exitCode, report, lines }
}

export function printOutcome({ report, lines, linesTo }: Outcome, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`)
  else if (lines.length > 0)
    (linesTo === 'stderr' ? process.stderr : process.stdout).write(`${lines.join('\n')}\n`)
}

/** A message on the way. */
export function note(text: string): void {
  process.stderr.write(`${withoutControls(withoutSecrets(text))}\n`)
}

/** A message may quote a file or another machine's answer: what it quotes must not move the cursor or rename the window. */
export function withoutControls(text: string): string {
  return text.replace(/[^\P{C}\n\t]+/gu, ' ')
}

/** Blanks the user and password of URLs, for messages quote settings; and private keys. */
export function withoutSecrets(text: string): string {
  return text
    .replace(/:\/\/[^/@\s]*@/g, '://…@')
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*-----)?/g, '[private key]')
}
