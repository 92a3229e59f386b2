/** A dry run: everything is done, its result is returned, and nothing is kept. */
import type { Db, Tx } from '../platform/db/db.ts'

/** Returns the database with transactions that return their result and roll back. */
export function rollingBack(db: Db): Db {
  return {
    ...db,
    async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
      const results: Result[] = []
      const rolledBack = new Error('dry run')
      try {
        await db.transaction(async (tx) => {
          results[0] = await work(tx)
          throw rolledBack
        })
      } catch (error) {
        if (error !== rolledBack) throw error
      }
      return results[0] as Result
    },
  }
}
