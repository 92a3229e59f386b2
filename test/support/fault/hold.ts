/**
 * Holds work in the middle: an insert of a chosen row waits until the test releases it. A process
 * that a test then kills or inspects is certain to be at work, on a machine of any speed.
 */
import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'

export interface Held {
  /** Resolves once a transaction waits at the row. Throws if the process `by` has ended before. */
  reached(by: Pick<ChildProcess, 'exitCode' | 'signalCode'>): Promise<void>
  /**
   * Releases the row. Resolves after every waiting transaction has ended; transactions of a dead
   * process are rolled back.
   */
  release(): Promise<void>
}

/**
 * Holds inserts into `table`. `when` is an SQL condition on the new row, for example `new.username
 * = 'ada'`.
 */
export async function holdInserts(
  url: string,
  { table, when }: { table: string; when: string },
): Promise<Held> {
  const key = randomInt(2 ** 31)
  const client = new Client({ connectionString: url, application_name: 'hold' })
  await client.connect()
  await client.query(`
    select pg_advisory_lock(${key});
    create function hold_${key}() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(${key});
      return new;
    end $$;
    create trigger hold_${key} before insert on ${table} for each row when (${when})
      execute function hold_${key}()`)
  const waiting = `select from pg_locks where locktype = 'advisory' and objid = ${key} and not granted`
  return {
    async reached(by) {
      while ((await client.query(waiting)).rowCount === 0) {
        if (by.exitCode !== null || by.signalCode !== null)
          throw new Error(`it ended before ${when}`)
        await pause(5)
      }
    },
    async release() {
      await client.query(`select pg_advisory_unlock(${key})`)
      // Dropping the function waits for every transaction that uses the table.
      await client.query(`drop function hold_${key} cascade`)
      await client.end()
    },
  }
}
