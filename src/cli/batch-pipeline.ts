/**
 * Runs two batches at a time: while the database applies one, the next is read and begun, if the
 * two share no key.
 */

export interface BatchSteps<Batch, Answer> {
  /** Names everything that a batch may change. If that is unknown, null: the batch runs alone. */
  keysOf(batch: Batch): ReadonlySet<string> | null
  apply(batch: Batch): Promise<Answer>
  /** Is called in the order of the batches. */
  report(batch: Batch, answer: Answer): Promise<void>
}

/**
 * Applies and reports all batches. Begins no further batch once `signal` is aborted, and resolves
 * when every begun batch has ended. If a batch fails, rejects with its error and reports no later
 * batch.
 */
export async function runBatches<Batch, Answer>(
  batches: AsyncIterable<Batch>,
  { keysOf, apply, report }: BatchSteps<Batch, Answer>,
  signal: AbortSignal,
): Promise<void> {
  let previousKeys: ReadonlySet<string> | null = null
  let reported = Promise.resolve()
  const runAfter = async (batch: Batch, before: Promise<void>): Promise<void> => {
    const [applied, earlier] = await Promise.allSettled([apply(batch), before])
    if (earlier.status === 'rejected') throw earlier.reason
    if (applied.status === 'rejected') throw applied.reason
    await report(batch, applied.value)
  }
  try {
    for await (const batch of batches) {
      const keys = keysOf(batch)
      const before = reported
      if (!areDisjoint(previousKeys, keys)) await before
      if (signal.aborted) break
      reported = runAfter(batch, before)
      // The next iteration or `finally` awaits it and gets its error.
      reported.catch(() => {})
      previousKeys = keys
      await before
    }
  } finally {
    await reported
  }
}

function areDisjoint(
  some: ReadonlySet<string> | null,
  others: ReadonlySet<string> | null,
): boolean {
  return some !== null && others !== null && some.isDisjointFrom(others)
}
