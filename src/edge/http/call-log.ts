/** The request log for the server, which adds each call with a key or a session. */
import type { ErrorCauses, NotFoundCause } from '../../platform/errors.ts'

/** The caller and the operation of a call, known once the caller is authenticated. */
export interface LoggedCall {
  accountId: string
  /** Null for a call with a session. */
  keyId: string | null
  operationId: string
  /** Charged credits. */
  credits: number
  /** What is known of an error before its answer is written. */
  cause?: NotFoundCause | ErrorCauses['invalid_api_key']
}

export interface CallRecord extends Omit<LoggedCall, 'cause'> {
  at: Date
  requestId: string
  status: number
  /** Null for a success. */
  error: string | null
  /** See `ErrorCauses`. Null: nothing is known beyond the error. */
  cause: object | null
  durationUs: number
  /** The client's whole address; it is not stored. */
  address: string | undefined
}

export interface CallLog {
  /** Takes a record without waiting and without failing. */
  add(record: CallRecord): void
}
