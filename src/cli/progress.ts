/** How far a long command is, on standard error: a bar on a terminal, a line every five seconds elsewhere. */
import cliProgress from 'cli-progress'
import { note } from './output.ts'

export interface Progress {
  /** After each batch. */
  at(lines: number, reached: number): void
  end(): void
}

const lineEveryMs = 5_000

/** `total` is what the second argument of `at` comes to in the end, usually bytes; null where that cannot be known. */
export function showProgress(total: number | null, unit = 'lines'): Progress {
  const startedAt = performance.now()
  const speed = (lines: number): number =>
    Math.round((lines * 1_000) / Math.max(performance.now() - startedAt, 1))
  return process.stderr.isTTY && total !== null && total > 0
    ? bar(total, unit, speed)
    : plainLines(total, unit, speed)
}

function bar(total: number, unit: string, speed: (lines: number) => number): Progress {
  const shown = new cliProgress.SingleBar({
    stream: process.stderr,
    format: '[{bar}] {percentage} %  {lines} {unit}  {speed} {unit}/s  {eta_formatted} left',
    fps: 5,
    etaBuffer: 100,
    hideCursor: true,
    gracefulExit: false,
  })
  shown.start(total, 0, { lines: 0, speed: 0, unit })
  return {
    at: (lines, reached) => shown.update(reached, { lines, speed: speed(lines) }),
    end: () => shown.stop(),
  }
}

function plainLines(
  total: number | null,
  unit: string,
  speed: (lines: number) => number,
): Progress {
  let saidAt = performance.now()
  return {
    at(lines, reached) {
      if (performance.now() - saidAt < lineEveryMs) return
      saidAt = performance.now()
      const share = total ? `${Math.floor((reached * 100) / total)} %, ` : ''
      note(`${share}${lines} ${unit}, ${speed(lines)} ${unit}/s`)
    },
    end: () => {},
  }
}
