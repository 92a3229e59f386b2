/**
 * The session settings that the code relies on. Pure. Every connection sets them itself, because
 * the server, the database or the role may be configured differently.
 */

/**
 * How connections reach PostgreSQL.
 *
 * - `session`: each connection has its own server connection, directly or through a pooler in
 *   session mode.
 * - `transaction`: a pooler gives each transaction another server connection, so no statement is
 *   prepared under a name.
 * - `transaction-prepared`: the same, but the pooler tracks named statements (PgBouncer 1.21 or
 *   newer).
 */
export const poolings = ['session', 'transaction', 'transaction-prepared'] as const
export type Pooling = (typeof poolings)[number]

/** Names and values as `pg_settings` shows them. */
export const requiredSettings: Readonly<Record<string, string>> = {
  // The driver can read no other date format, and times are compared as text.
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  standard_conforming_strings: 'on',
  // Each statement sees all rows committed before it began. The code takes locks first and reads
  // rows afterwards.
  default_transaction_isolation: 'read committed',
  // An answered call survives a crash of the database server (decision D20).
  synchronous_commit: 'on',
  // Compiling a search takes a second; running it takes a millisecond.
  jit: 'off',
  // Planning a search for each call costs more time than the better plan saves.
  plan_cache_mode: 'force_generic_plan',
  // A transaction that hides something says so in a notice.
  client_min_messages: 'notice',
}

export interface SessionLimits {
  /**
   * 0 for none. A statement waits for a lock at most half of it, because the holder of the lock may
   * work as long as it.
   */
  statementTimeoutMs: number
  /**
   * `off` only for data that may be lost in a crash of the database server (rate limit windows).
   */
  synchronousCommit: 'on' | 'off'
}

/**
 * Returns the statement that sets all settings, until the connection or (with `scope`
 * `transaction`) the transaction ends. Its row has `pid`, the server process that answered.
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
