/**
 * Pure: the session settings that the code relies on. Every connection sets them itself, because the configuration of the server, the
 * database or the role may say otherwise.
 */

/**
 * How connections reach PostgreSQL. `session`: each of ours is one of the server's, directly or through a pooler in session mode.
 * `transaction`: a pooler gives each transaction another connection of the server, and a statement cannot be prepared under a name.
 * `transaction-prepared`: the same, and the pooler keeps named statements apart (PgBouncer 1.21 or newer).
 */
export const poolings = ['session', 'transaction', 'transaction-prepared'] as const
export type Pooling = (typeof poolings)[number]

/** By the name that `pg_settings` shows, with the value that it shows. */
export const requiredSettings: Readonly<Record<string, string>> = {
  // The driver reads no other form of a date, and texts of times are compared.
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  standard_conforming_strings: 'on',
  // Each statement sees what was committed before it began: locks are taken first and rows are read after.
  default_transaction_isolation: 'read committed',
  // An answered call survives a crash of the server (decision D20).
  synchronous_commit: 'on',
  // Compiling a search takes a second, running it a millisecond.
  jit: 'off',
  // Planning a search anew for each call costs more than it finds.
  plan_cache_mode: 'force_generic_plan',
}

export interface SessionLimits {
  /** 0 for none. A statement waits for a lock at most half of it: other callers may work for just as long. */
  statementTimeoutMs: number
  /** `off` only for data that a crash of the database server may lose (rate limit windows). */
  synchronousCommit: 'on' | 'off'
}

/**
 * Returns the statement that puts all settings in force: until the connection ends, or, with `scope` `transaction`, until its
 * transaction ends. Its one row has `pid`, the process of the server that answered.
 */
export function settingStatement(
  { statementTimeoutMs, synchronousCommit }: SessionLimits,
  scope: 'session' | 'transaction',
): string {
  const settings = {
    ...requiredSettings,
    synchronous_commit: synchronousCommit,
    statement_timeout: statementTimeoutMs,
    lock_timeout: Math.ceil(statementTimeoutMs / 2),
  }
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config('${name}', '${value}', ${scope === 'transaction'})`,
  )
  return `select pg_backend_pid() as pid, ${calls.join(', ')}`
}
