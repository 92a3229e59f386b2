/**
 * A wait that other code of the same process can end early. A wake-up is a hint that there is work;
 * work is found without it too, later.
 */

export interface WakeUp {
  /** Ends the wait under way. If there is none, the next wait ends at once. */
  notify(): void
  /**
   * Resolves after `ms` milliseconds, on `notify` or on the signal, whichever is first. Only one
   * caller waits at a time.
   */
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

export function createWakeUp(): WakeUp {
  let isNotified = false
  let end: (() => void) | undefined
  return {
    notify() {
      isNotified = true
      end?.()
    },
    async wait(ms, signal) {
      if (!isNotified && !signal?.aborted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          end = () => {
            clearTimeout(timer)
            resolve()
          }
          signal?.addEventListener('abort', end, { once: true })
        })
      if (end !== undefined) signal?.removeEventListener('abort', end)
      end = undefined
      isNotified = false
    },
  }
}
