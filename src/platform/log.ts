/**
 * The log: one JSON line each, written in the background. What enters a line is chosen by name, never a header, a body or a query;
 * and what looks like a secret is blanked on the way out all the same.
 */
import { type DestinationStream, destination, pino } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** The one line of a request. */
export interface RequestLine {
  method: string
  /** The declared path, with `{name}` for what varies; `unmatched` where no route was found. */
  route: string
  status: number
  /** Milliseconds until the answer was handed to the connection. */
  ms: number
  requestId: string
  /** Keyed digest of the caller's rate bucket: tells callers apart without naming them. */
  client: string
  /** The `error` value of the answer. */
  error?: string
}

export interface Log {
  /** A surprise or a change of state. `fields` are shown as they are: ids and numbers, no content. */
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  /** With the stack of `error` and of its causes, where there is one. */
  error(message: string, error: unknown, fields?: LogFields): void
  request(line: RequestLine): void
  /** Writes out what is held in memory; called at exit as well. */
  flush(): void
}

export type LogFields = Record<string, string | number | boolean | null>

export interface LogOptions {
  level: LogLevel
  /** Standard output unless given. */
  to?: DestinationStream & { flushSync?(): void }
}

export function openLog({ level, to = background() }: LogOptions): Log {
  const lines = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    to,
  )
  const flush = (): void => to.flushSync?.()
  process.once('exit', flush)
  return {
    info: (message, fields) => lines.info(fields ?? {}, message),
    warn: (message, fields) => lines.warn(fields ?? {}, message),
    error: (message, error, fields) =>
      lines.error(error === null ? (fields ?? {}) : { ...fields, error: told(error) }, message),
    request: (line) => lines.info(line),
    flush,
  }
}

/** Held until 4 KiB are together or 200 ms have gone by: a request never waits for the disk. */
function background() {
  return destination({ dest: 1, sync: false, minLength: 4_096, periodicFlush: 200 })
}

function told(error: unknown): { name: string; message: string; stack?: string; cause?: unknown } {
  if (!(error instanceof Error)) return { name: 'thrown', message: String(error) }
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined ? {} : { cause: told(cause) }),
  }
}

const secrets =
  /\b(?:svc_(?:live|test)_|whsec_)[\w-]+|-----BEGIN [A-Z ]+-----[^"]*?(?:-----END [A-Z ]+-----|(?="))/g

/** Blanks API keys, webhook secrets and PEM blocks. */
export function redact(line: string): string {
  return line.includes('svc_') || line.includes('whsec_') || line.includes('-----BEGIN')
    ? line.replace(secrets, '[redacted]')
    : line
}
