/** Batches two at a time: while the database does one, the next is read and begun, where neither speaks of what the other speaks of. */

export interface Steps<Batch, Answer> {
  /** Everything a batch speaks of; null where that cannot be said: then nothing is done beside it. */
  concerns(batch: Batch): ReadonlySet<string> | null
  apply(batch: Batch): Promise<Answer>
  /** In the order of the batches. */
  tell(batch: Batch, answer: Answer): Promise<void>
}

/**
 * Begins nothing more once `signal` is given. Ends when all that was begun has ended; rejects as the first batch that failed did, and those
 * behind it are not told.
 */
export async function overlap<Batch, Answer>(
  batches: AsyncIterable<Batch>,
  { concerns, apply, tell }: Steps<Batch, Answer>,
  signal: AbortSignal,
): Promise<void> {
  let said: ReadonlySet<string> | null = null
  let told = Promise.resolve()
  const doneAfter = async (batch: Batch, before: Promise<void>): Promise<void> => {
    const [applied, earlier] = await Promise.allSettled([apply(batch), before])
    if (earlier.status === 'rejected') throw earlier.reason
    if (applied.status === 'rejected') throw applied.reason
    await tell(batch, applied.value)
  }
  try {
    for await (const batch of batches) {
      const says = concerns(batch)
      const before = told
      if (!areApart(said, says)) await before
      if (signal.aborted) break
      told = doneAfter(batch, before)
      // Whoever waits for it hears of it.
      told.catch(() => {})
      said = says
      await before
    }
  } finally {
    await told
  }
}

function areApart(some: ReadonlySet<string> | null, others: ReadonlySet<string> | null): boolean {
  return some !== null && others !== null && some.isDisjointFrom(others)
}
