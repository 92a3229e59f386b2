/**
 * How a process is told to end: the first SIGINT or SIGTERM asks it to finish what is under way, a second one not to wait for that,
 * a third ends it where it stands.
 */
export interface Stopping {
  /** Aborted by the first signal; its `reason` is the signal's name. */
  readonly asked: AbortSignal
  /** Aborted by the second. */
  readonly hurried: AbortSignal
}

/** One Ctrl-C may arrive twice: from the terminal, and from the script that started us. */
const sameWishMs = 1_000

/** Watches from now on until the process ends. */
export function watchStopSignals(): Stopping {
  const asked = new AbortController()
  const hurried = new AbortController()
  let heardAt = Number.NEGATIVE_INFINITY
  const hear = (signal: NodeJS.Signals): void => {
    const isRepeated = performance.now() - heardAt < sameWishMs
    if (isRepeated) return
    heardAt = performance.now()
    if (!asked.signal.aborted) asked.abort(signal)
    else if (!hurried.signal.aborted) hurried.abort(signal)
    else process.exit(130)
  }
  process.on('SIGINT', hear).on('SIGTERM', hear)
  return { asked: asked.signal, hurried: hurried.signal }
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
