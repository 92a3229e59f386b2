/** Ends transactions at a chosen boundary between two statements. */
import type { Db, Statement, Tx } from '../../../src/platform/db/db.ts'

/**
 * Returns a database whose transactions call `boundary` before each statement and before the
 * commit, with the number of the boundary (from 0). An error thrown by `boundary` rolls the
 * transaction back.
 */
export function boundedDb(db: Db, boundary: (number: number) => void): Db {
  return {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        let reached = 0
        const result = await work(boundedTx(tx, () => boundary(reached++)))
        boundary(reached++)
        return result
      }),
  }
}

function boundedTx(tx: Tx, next: () => void): Tx {
  return {
    inTransaction: true,
    rows: async <Row>(statement: Statement) => {
      next()
      return tx.rows<Row>(statement)
    },
    run: async (statement) => {
      next()
      return tx.run(statement)
    },
  }
}

export class Fault extends Error {
  override readonly name = 'Fault'
}

/**
 * Runs `work` repeatedly and interrupts each run one boundary later, until a run completes. Calls
 * `look` after every run, to check the state that the run left. Returns the number of interrupted
 * runs.
 */
export async function cutOffEverywhere(
  db: Db,
  work: (db: Db) => Promise<unknown>,
  look: (cutOff: boolean) => Promise<void>,
): Promise<number> {
  for (let at = 0; ; at++) {
    const bounded = boundedDb(db, (number) => {
      if (number === at) throw new Fault(`at boundary ${at}`)
    })
    const cutOff = await work(bounded).then(
      () => false,
      (error: unknown) => {
        if (error instanceof Fault) return true
        throw error
      },
    )
    await look(cutOff)
    if (!cutOff) return at
  }
}
