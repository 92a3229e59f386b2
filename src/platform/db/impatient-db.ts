/** A database that is given up after a moment, for whoever has a caller waiting (decision D13). */

import { orLate } from '../deadline.ts'
import { UnavailableError } from '../http/errors.ts'
import { patient } from '../patience.ts'
import type { Db } from './db.ts'

/** How long a caller usually waits for one answer of the database: twice, and it still has its own within a second. */
export const answerWithinMs = 450

/** Each statement is given up on its own, with `UnavailableError`; it may be done all the same. */
export function impatientDb(db: Db): Db {
  return {
    rows: (statement) => inTime(db.rows(statement)),
    run: (statement) => inTime(db.run(statement)),
    transaction: (work) => inTime(db.transaction(work)),
    close: () => db.close(),
  }
}

/** What the database is doing already, waited for no longer than that. */
export function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const ms = patient(answerWithinMs)
  const why = `the database did not answer within ${ms} ms`
  return orLate(work, ms, () => Promise.reject(new UnavailableError(why)))
}
