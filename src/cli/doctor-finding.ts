/** Pure: one line of `assay doctor`. */

export interface Finding {
  check: string
  level: 'ok' | 'warn' | 'fail'
  /** The finding, and the remedy if something is wrong. */
  message: string
}

/** Returns functions that make the findings of one check. */
export function about(check: string) {
  const of =
    (level: Finding['level']) =>
    (message: string): Finding => ({ check, level, message })
  return {
    ok: of('ok'),
    /** The service runs, but something will surprise its operator. */
    warn: of('warn'),
    /** The service does not start, or a part of it does not work. */
    fail: of('fail'),
  }
}
