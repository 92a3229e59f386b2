/** Pure: one line of `assay doctor`. */

export interface Finding {
  check: string
  level: 'ok' | 'warn' | 'fail'
  /** What was found, and what to do where it is not fine. */
  told: string
}

export function ok(check: string, told: string): Finding {
  return { check, level: 'ok', told }
}

/** The service runs, and something will surprise its operator. */
export function warn(check: string, told: string): Finding {
  return { check, level: 'warn', told }
}

/** The service does not start, or refuses what it should do. */
export function fail(check: string, told: string): Finding {
  return { check, level: 'fail', told }
}
