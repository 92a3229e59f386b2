/** A pause that somebody in the same process can cut short: a hint that there is work, never the only way to learn of it. */

export interface Bell {
  /** Ends the pause that is under way, or else the next one. */
  ring(): void
  /** For one at a time. Resolves after `ms` milliseconds, when the bell rings or when the signal comes, whatever is first. */
  pause(ms: number, signal?: AbortSignal): Promise<void>
}

export function createBell(): Bell {
  let rung = false
  let end: (() => void) | undefined
  return {
    ring() {
      rung = true
      end?.()
    },
    async pause(ms, signal) {
      if (!rung && !signal?.aborted)
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
      rung = false
    },
  }
}
