/** Transactions that end at a chosen boundary between two statements. */
import type { Db, Statement, Tx } from '../../../src/platform/db/db.ts'

/**
 * A database whose transactions call `boundary` before each statement, and before they commit, with the number of that boundary, from 0.
 * What it throws ends the transaction.
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
 * Runs `work` again and again, cut off one boundary later each time, until a run comes through; `look` sees what each leaves behind. Gives
 * how many were cut off.
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
