/** The one way in which a command fails: `throw failure(…)` or `throw usageError(…)`. */

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
