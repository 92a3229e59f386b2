/**
 * Work held in its middle: whoever inserts a certain row stands still before it until the test lets go. What is killed, interrupted or looked
 * at then is at work for certain, on a machine of any speed.
 */
import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'

export interface Held {
  /** Resolves once somebody stands there. Throws where the process that should come to it has ended. */
  reached(by: Pick<ChildProcess, 'exitCode' | 'signalCode'>): Promise<void>
  /** Lets go. Transactions that came to the row have ended then: rolled back where their process is dead. */
  release(): Promise<void>
}

/** `when`: SQL of the row, as `new.username = 'ada'`. */
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
      // Waits for the transactions that work on the table.
      await client.query(`drop function hold_${key} cascade`)
      await client.end()
    },
  }
}
