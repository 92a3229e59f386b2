/**
 * Stop signals of a process. The first SIGINT or SIGTERM lets the work in progress finish, a second
 * one ends the wait for it, and a third one ends the process at once.
 */
export interface StopSignals {
  /** Aborted by the first signal; its `reason` is the signal's name. */
  readonly first: AbortSignal
  /** Aborted by the second signal. */
  readonly second: AbortSignal
}

/** One Ctrl-C may arrive twice: from the terminal, and from the script that started the process. */
const sameSignalMs = 1_000

export function watchStopSignals(): StopSignals {
  const first = new AbortController()
  const second = new AbortController()
  let heardAt = Number.NEGATIVE_INFINITY
  const hear = (signal: NodeJS.Signals): void => {
    const isRepeated = performance.now() - heardAt < sameSignalMs
    if (isRepeated) return
    heardAt = performance.now()
    if (!first.signal.aborted) first.abort(signal)
    else if (!second.signal.aborted) second.abort(signal)
    else process.exit(130)
  }
  process.on('SIGINT', hear).on('SIGTERM', hear)
  return { first: first.signal, second: second.signal }
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
