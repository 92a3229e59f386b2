/** Puts a deadline on each statement, for code with a caller that waits (decision D13). */

import { orLate } from '../deadline.ts'
import { UnavailableError } from '../http/errors.ts'
import { patient } from '../patience.ts'
import type { Db } from './db.ts'

/**
 * Usual deadline of one statement in milliseconds. Two statements fit into one second, the time
 * within which a caller should get its answer.
 */
export const answerWithinMs = 450

/**
 * Wraps a database. A statement that exceeds its deadline rejects with `UnavailableError`, but it
 * may still take effect.
 */
export function impatientDb(db: Db): Db {
  return {
    rows: (statement) => inTime(db.rows(statement)),
    run: (statement) => inTime(db.run(statement)),
    transaction: (work) => inTime(db.transaction(work)),
    close: () => db.close(),
  }
}

/** Puts the same deadline on database work that has already begun. */
export function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const ms = patient(answerWithinMs)
  const why = `the database did not answer within ${ms} ms`
  return orLate(work, ms, () => Promise.reject(new UnavailableError(why)))
}
