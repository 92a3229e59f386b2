/** Bodies and answers of lines: they are read and sent piece by piece, and have any length. */

/** A body that the handler reads while it arrives. */
export interface LinesBody {
  /** Throws if the body is too large, too slow or cut off, and at the signal. */
  chunks(signal: AbortSignal): AsyncIterable<Uint8Array>
  isCsv: boolean
}

/** Lines of JSON that are sent while the body is read. */
export interface Lines {
  /** Called once, also if the caller is gone already. Resolves to the last line. */
  follow(stream: LineStream): Promise<object>
}

export interface LineStream {
  /** Sends a line. Returns false, and drops it, if too many wait for the reader. */
  send(line: object): boolean
  /** Logs a failure, and returns what its caller may know about it. */
  failed(error: unknown): object
  /** Aborted when the caller is gone or the server stops. */
  ended: AbortSignal
}
