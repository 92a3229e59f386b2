/** Runs the real command line with its own folder and database and without our environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import flags from '../../../scripts/runtime/node-flags.json' with { type: 'json' }
import { type CommandEnd, runInProcess } from './in-process.ts'
import { programs } from './processes.ts'
import { program } from './program.ts'
import { timeoutMultiplier } from './timeout-multiplier.ts'

export interface Ended {
  code: number | null
  out: string
  err: string
  /** Peak resident memory in bytes. */
  peakBytes: number
}

export interface CommandLine {
  folder: string
  env: Record<string, string>
  /** Starts a command as a process, for tests of signals, memory or the start itself. */
  start(args: readonly string[]): ChildProcess
  /** Runs a command in this process until it ends, with `input` on standard input. */
  run(args: readonly string[], input?: string): Promise<CommandEnd>
  remove(): void
}

const tellPeak = `data:text/javascript,process.on('exit',()=>process.stderr.write('peak='+process.resourceUsage().maxRSS))`

export function commandLine(databaseUrl: string): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), 'assay-cli-'))
  const env = {
    ...programs,
    DATABASE_URL: databaseUrl,
    ASSAY_DATA_DIR: join(folder, 'data'),
    PUBLIC_URL: 'https://scores.example.org',
    PORT: '0',
    DRAIN_DELAY_SECONDS: '0',
    TIMEOUT_MULTIPLIER: String(timeoutMultiplier),
  }
  const start = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [...flags.flatMemory, '--import', tellPeak, program, ...args], {
      cwd: folder,
      env,
    })
  return {
    folder,
    env,
    start,
    run: (args, input = '') => runInProcess({ args, env, input, folder }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function ended(child: ChildProcess, input = ''): Promise<Ended> {
  let out = ''
  let err = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  // A command that rejects its arguments ends without reading its input, so the write may fail.
  child.stdin?.on('error', () => {}).end(input)
  return new Promise((done, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      const peak = /peak=(\d+)$/.exec(err)
      err = err.replace(/peak=\d+$/, '')
      done({ code, out, err, peakBytes: Number(peak?.[1]) * 1_024 })
    })
  })
}
