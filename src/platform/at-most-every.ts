/**
 * Limits how often a thing is read or written, however many callers ask for it. Calls under way and
 * calls within `everyMs` of the last one share its result, also if it failed.
 */
export function atMostEvery<Result>(
  everyMs: number,
  work: () => Promise<Result>,
): () => Promise<Result> {
  let begunAt = Number.NEGATIVE_INFINITY
  let isUnderWay = false
  let last: Promise<Result> | undefined
  return () => {
    if (last === undefined || !(isUnderWay || performance.now() - begunAt < everyMs)) {
      begunAt = performance.now()
      isUnderWay = true
      last = work().finally(() => {
        isUnderWay = false
      })
    }
    return last
  }
}
