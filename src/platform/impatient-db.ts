/** A database that is given up after a moment, for whoever has a caller waiting (decision D13). */
import type { Db } from './db.ts'
import { UnavailableError } from './errors.ts'
import { patient } from './patience.ts'

/** What does not answer within `usualMs` rejects with `UnavailableError`; it may be done all the same. */
export function impatientDb(db: Db, usualMs: number): Db {
  const ms = patient(usualMs)
  const inTime = async <Result>(work: Promise<Result>): Promise<Result> => {
    const late = Promise.withResolvers<never>()
    const why = `the database did not answer within ${ms} ms`
    const timer = setTimeout(() => late.reject(new UnavailableError(why)), ms)
    try {
      return await Promise.race([work, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    rows: (statement) => inTime(db.rows(statement)),
    run: (statement) => inTime(db.run(statement)),
    transaction: (work) => inTime(db.transaction(work)),
    close: () => db.close(),
  }
}
