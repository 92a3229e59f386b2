/** Pure: one line of `assay doctor`. */

export interface Finding {
  check: string
  level: 'ok' | 'warn' | 'fail'
  /** The finding, and the remedy if something is wrong. */
  message: string
}

export function ok(check: string, message: string): Finding {
  return { check, level: 'ok', message: message }
}

/** The service runs, but something will surprise its operator. */
export function warn(check: string, message: string): Finding {
  return { check, level: 'warn', message: message }
}

/** The service does not start, or a part of it does not work. */
export function fail(check: string, message: string): Finding {
  return { check, level: 'fail', message: message }
}
