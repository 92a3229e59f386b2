/**
 * The log: one JSON line each, written in the background; a killed process loses the last fifth of a second. What enters a line is
 * chosen by name, never a header, a body or a query; and what looks like a secret is blanked on the way out all the same.
 */
import { destination, pino } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** The one line of a request. */
export interface RequestLine {
  method: string
  /** The declared path, with `{name}` for what varies; `unmatched` where no route was found. */
  route: string
  status: number
  /** Whole microseconds until the answer was handed to the connection. */
  us: number
  requestId: string
  /** Keyed digest of the caller's rate bucket: tells callers apart without naming them. */
  client: string
  /** The `error` value of the answer. */
  error: string | undefined
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
  /** Standard output unless given, and then written out at exit. */
  to?: LogDestination
}

export interface LogDestination {
  /** Takes one or more whole lines. */
  write(lines: string): unknown
  flushSync?(): void
}

export function openLog({ level, to }: LogOptions): Log {
  const held = holding(to ?? destination({ dest: 1, sync: false, maxWrite: 2 * heldLengthMax }))
  const lines = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    held,
  )
  const requests = lines.isLevelEnabled('info')
  if (to === undefined) process.once('exit', held.flushSync)
  return {
    info: (message, fields) => lines.info(fields ?? {}, message),
    warn: (message, fields) => lines.warn(fields ?? {}, message),
    error: (message, error, fields) =>
      lines.error(error === null ? (fields ?? {}) : { ...fields, error: told(error) }, message),
    request: (line) => {
      if (requests) held.write(requestText(line))
    },
    flush: held.flushSync,
  }
}

/**
 * Written by hand: serializing a general object costs more than finding and sending a document. Every text in it is ours or a token
 * of a closed alphabet, so nothing needs an escape, and no secret has a way in. What two lines share is made once.
 */
function requestText(line: RequestLine): string {
  return `${timed()}${about(line)}${line.us},"requestId":"${line.requestId}","client":"${line.client}"}\n`
}

const shared = new Map<string, Map<string | undefined, string>[]>()

/** As many as routes, methods, statuses and error values there are. */
function about({ method, route, status, error }: RequestLine): string {
  const key = `${method} ${route}`
  let statuses = shared.get(key)
  if (statuses === undefined) shared.set(key, (statuses = []))
  const texts = (statuses[status] ??= new Map<string | undefined, string>())
  let text = texts.get(error)
  if (text === undefined) {
    const why = error === undefined ? '' : `"error":"${error}",`
    text = `"method":"${method}","route":"${route}","status":${status},${why}"us":`
    texts.set(error, text)
  }
  return text
}

let timedAt = 0
let timedText = ''

function timed(): string {
  const now = Date.now()
  if (now !== timedAt) {
    timedAt = now
    timedText = `{"level":"info","time":"${new Date(now).toISOString()}",`
  }
  return timedText
}

const heldLengthMax = 65_536
const heldMs = 200

/** Lines leave together, so that a request waits neither for a disk nor for a system call. */
function holding(to: LogDestination) {
  let held = ''
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (held === '') return
    const lines = held
    held = ''
    to.write(lines)
  }
  return {
    write(line: string): void {
      held += line
      if (held.length >= heldLengthMax) flush()
      else timer ??= setTimeout(flush, heldMs).unref()
    },
    flushSync(this: void): void {
      flush()
      to.flushSync?.()
    },
  }
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
