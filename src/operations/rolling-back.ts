/** A dry run: everything is done, its result is returned, and nothing is kept. */
import type { Db, Tx } from '../platform/db/db.ts'

/** Returns the database with transactions that return their result, and roll back if it says so. */
export function rollingBack(db: Db, isUndone: (result: unknown) => boolean = () => true): Db {
  return {
    ...db,
    async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
      const results: Result[] = []
      const rolledBack = new Error('dry run')
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
