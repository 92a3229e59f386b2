/**
 * Returns the result of `work`, or that of `late` if the work takes longer than `ms`. The work goes
 * on.
 */
export async function orLate<Result, Late>(
  work: Promise<Result>,
  ms: number,
  late: () => Late | Promise<Late>,
): Promise<Result | Late> {
  const over = Promise.withResolvers<Late>()
  const timer = setTimeout(() => over.resolve(late()), ms)
  try {
    return await Promise.race([work, over.promise])
  } finally {
    clearTimeout(timer)
  }
}
