/** `assay serve` and `assay jobs`: the serving process, and one of the background jobs alone. */
import type { Command } from 'commander'
import { type Config, ConfigError, readConfig } from '../../config/config.ts'
import { origin, serve } from '../../main/serve.ts'
import { openLog } from '../../platform/observability/log.ts'
import { wholeNumber } from '../args.ts'
import { act, exitCodeOf, finish, messageOf } from '../command.ts'
import { settings } from '../context.ts'
import { done, type Outcome, withoutSecrets } from '../output.ts'

export function declareCommand(declared: Command): void {
  finish(declared, 'assay serve --processes 4')
    .option('--demo', 'issue demo credentials first, and print commands to try')
    .option(
      '--processes <n>',
      'serving processes that share the port (setting PROCESSES)',
      wholeNumber(1, 64),
    )
    .option('--no-jobs', 'run no background jobs; another process of this database must run them')
    .action(act((flags: ServeFlags) => logged(() => serveRequests(flags))))
}

export function declareJobs(declared: Command): void {
  finish(declared, 'assay jobs').action(
    act(() => logged(() => serve(settings(), { demo: false, jobs: 'alone' }))),
  )
}

interface ServeFlags {
  demo?: boolean
  processes?: number
  /** False with --no-jobs. */
  jobs: boolean
}

async function serveRequests({ demo = false, jobs, ...flags }: ServeFlags): Promise<void> {
  const config = demo ? withDemoPayee(settings()) : settings()
  const { processes = config.processes } = flags
  // A line for each request would hide the commands that the demo prints.
  const logLevel = demo && !process.env.LOG_LEVEL ? 'warn' : config.logLevel
  await serve(
    { ...config, processes, logLevel },
    { demo, jobs: jobs ? 'here' : 'elsewhere', launcherPid: launcherPidOf(process.env) },
  )
}

/** Lets the demo challenge callers without a key. It takes no payment; `npm run demo:x402` does. */
function withDemoPayee(config: Config): Config {
  if (!config.metering || config.x402 !== null) return config
  const X402_PAY_TO = '0x000000000000000000000000000000000000dEaD'
  return readConfig({ ...process.env, X402_PAY_TO })
}

/**
 * Runs a process that writes a log. If the log is no terminal, the reason why the process cannot
 * start or go on is a line of it, because programs read it.
 */
async function logged(run: () => Promise<void>): Promise<Outcome> {
  try {
    await run()
    return done({}, [])
  } catch (error) {
    const exitCode = exitCodeOf(error, 1)
    if (exitCode === 130 || process.stdout.isTTY) throw error
    const isConfig = error instanceof ConfigError
    const why = withoutSecrets(isConfig ? error.problems.join('; ') : messageOf(error))
    const log = openLog({ level: 'error', origin, to: process.stdout })
    log.error(isConfig ? 'the settings are not valid' : 'the process ends', null, { why })
    log.flush()
    return done({}, [], exitCode)
  }
}

/**
 * The variable is set by scripts/runtime/run.mjs. A child of the server inherits it, and has
 * another parent.
 */
function launcherPidOf({ ASSAY_LAUNCHER_PID }: NodeJS.ProcessEnv): number | undefined {
  const launcherPid = Number(ASSAY_LAUNCHER_PID)
  return launcherPid === process.ppid ? launcherPid : undefined
}
