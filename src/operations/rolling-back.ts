/** A dry run: everything is done, its result is returned, and nothing is kept. */
import type { Db, Tx } from '../platform/db/db.ts'

/** Ends every such transaction: a new one for each would capture a stack that nobody reads. */
const rolledBack = new Error('rolled back')

/** Returns the database with transactions that return their result, and roll back if it says so. */
export function rollingBack(db: Db, isUndone: (result: unknown) => boolean = () => true): Db {
  return {
    ...db,
    async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
      const results: Result[] = []
      try {
        await db.transaction(async (tx) => {
          const result = await work(tx)
          results[0] = result
          if (isUndone(result)) throw rolledBack
        })
      } catch (error) {
        if (error !== rolledBack) throw error
      }
      return results[0] as Result
    },
  }
}
