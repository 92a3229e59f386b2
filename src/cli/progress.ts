/** How far a long command is, on standard error: a bar on a terminal, a line every five seconds elsewhere. */
import cliProgress from 'cli-progress'
import { note } from './output.ts'

export interface Progress {
  /** After each batch. */
  at(lines: number, bytesRead: number): void
  end(): void
}

const lineEveryMs = 5_000

/** `bytesTotal` is null where the length of the input cannot be known. */
export function showProgress(bytesTotal: number | null): Progress {
  const startedAt = performance.now()
  const speed = (lines: number): number =>
    Math.round((lines * 1_000) / Math.max(performance.now() - startedAt, 1))
  return process.stderr.isTTY && bytesTotal !== null && bytesTotal > 0
    ? bar(bytesTotal, speed)
    : plainLines(bytesTotal, speed)
}

function bar(bytesTotal: number, speed: (lines: number) => number): Progress {
  const shown = new cliProgress.SingleBar({
    stream: process.stderr,
    format: '[{bar}] {percentage} %  {lines} lines  {speed} lines/s  {eta_formatted} left',
    fps: 5,
    etaBuffer: 100,
    hideCursor: true,
    gracefulExit: false,
  })
  shown.start(bytesTotal, 0, { lines: 0, speed: 0 })
  return {
    at: (lines, bytesRead) => shown.update(bytesRead, { lines, speed: speed(lines) }),
    end: () => shown.stop(),
  }
}

function plainLines(bytesTotal: number | null, speed: (lines: number) => number): Progress {
  let saidAt = performance.now()
  return {
    at(lines, bytesRead) {
      if (performance.now() - saidAt < lineEveryMs) return
      saidAt = performance.now()
      const share = bytesTotal ? `${Math.floor((bytesRead * 100) / bytesTotal)} %, ` : ''
      note(`${share}${lines} lines, ${speed(lines)} lines/s`)
    },
    end: () => {},
  }
}
