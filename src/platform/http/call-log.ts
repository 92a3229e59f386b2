/** The request log for the server, which adds each call with a key or a session. */

/** The caller and the operation of a call, known once the caller is authenticated. */
export interface LoggedCall {
  accountId: string
  /** Null for a call with a session. */
  keyId: string | null
  operationId: string
  /** Charged credits. */
  credits: number
}

export interface CallRecord extends LoggedCall {
  at: Date
  requestId: string
  status: number
  /** Null for a success. */
  error: string | null
  durationUs: number
  /** The client's whole address; it is not stored. */
  address: string | undefined
}

export interface CallLog {
  /** Takes a record without waiting and without failing. */
  add(record: CallRecord): void
}
