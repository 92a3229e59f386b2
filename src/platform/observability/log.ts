/**
 * The log: one JSON line each, written some hundreds at a time; a killed process loses the last fifth of a second. What enters a line is
 * chosen by name, never a header, a body or a query; and what looks like a secret is blanked on the way out all the same.
 */
import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'
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
  const held = holding(to ?? standardOutput())
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
      if (requests) held.hold({ line, at: Date.now() })
    },
    flush: held.flushSync,
  }
}

interface Held {
  line: RequestLine
  /** Milliseconds since 1970. */
  at: number
}

/**
 * Written by hand: serializing a general object costs more than finding and sending a document. Every text in it is ours or a token
 * of a closed alphabet, so nothing needs an escape, and no secret has a way in. What two lines share is made once.
 */
function requestText({ line, at }: Held): string {
  return `${timed(at)}${about(line)}${line.us},"requestId":"${line.requestId}","client":"${line.client}"}\n`
}

type Texts = Map<string | undefined, string>

/** By route, method, status and error value; names are looked up as they are, for a key made of them would be made for each line. */
const shared = new Map<string, Map<string, Texts[]>>()

/** As many as routes, methods, statuses and error values there are. */
function about({ method, route, status, error }: RequestLine): string {
  const methods = madeOnce(shared, route, () => new Map<string, Texts[]>())
  const statuses = madeOnce(methods, method, (): Texts[] => [])
  const texts = (statuses[status] ??= new Map())
  return madeOnce(texts, error, () => {
    const why = error === undefined ? '' : `"error":"${error}",`
    return `"method":"${method}","route":"${route}","status":${status},${why}"us":`
  })
}

function madeOnce<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

let timedAt = 0
let timedText = ''

function timed(at: number): string {
  if (at !== timedAt) {
    timedAt = at
    timedText = `{"level":"info","time":"${new Date(at).toISOString()}",`
  }
  return timedText
}

/** A file takes lines at once, and waking a thread for it costs more. A pipe or a terminal may have a slow reader, whom no request waits for. */
function standardOutput(): LogDestination {
  const kind = fstatSync(1)
  const mayBeSlow = kind.isFIFO() || kind.isSocket() || isatty(1)
  return destination({ dest: 1, sync: !mayBeSlow, maxWrite: 262_144 })
}

const heldMax = 256
const heldMs = 200

/**
 * Lines leave together, and become text only then: one request in hundreds pays for a write, the others put an object on a list.
 */
function holding(to: LogDestination) {
  let held: (string | Held)[] = []
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (held.length === 0) return
    const lines = held
    held = []
    let text = ''
    for (const line of lines) text += typeof line === 'string' ? line : requestText(line)
    to.write(text)
  }
  const hold = (line: string | Held): void => {
    if (held.push(line) >= heldMax) flush()
    else timer ??= setTimeout(flush, heldMs).unref()
  }
  return {
    hold,
    /** What pino calls. */
    write: hold,
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
