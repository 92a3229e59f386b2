/** `assay serve` and `jobs`: the settings, with what the command line changes of them, to the serving process. */
import { type Config, readConfig } from '../config/config.ts'
import { servingSettings } from '../config/serving.ts'
import { keepMemoryFlat } from './flat-memory.ts'
import { done, type Outcome } from './output.ts'
import { UsageError } from './run.ts'

export interface ServeFlags {
  demo?: boolean
  processes?: string
  /** False with --no-jobs. */
  jobs: boolean
}

export async function serveCommand(given: Config, flags: ServeFlags): Promise<Outcome> {
  const config = flags.demo ? withDemoPayee(given) : given
  const processes = flags.processes === undefined ? config.processes : processesOf(flags.processes)
  // The demo speaks to a person: a line for each request would bury its commands.
  const logLevel = flags.demo && !process.env.LOG_LEVEL ? 'warn' : config.logLevel
  const { serve } = await import('../app/serve.ts')
  await serve(
    { ...config, processes, logLevel },
    {
      demo: flags.demo ?? false,
      jobs: flags.jobs ? 'here' : 'elsewhere',
      launcherPid: launcherPidOf(process.env),
    },
  )
  return done({ ok: true }, [])
}

/** Lets the demo challenge callers without a key. It takes no payment; `npm run demo:x402` does. */
function withDemoPayee(config: Config): Config {
  if (!config.metering || config.x402 !== null) return config
  const X402_PAY_TO = '0x000000000000000000000000000000000000dEaD'
  return readConfig({ ...process.env, X402_PAY_TO })
}

/** The variable is set by scripts/runtime/run.mjs. A child of the server inherits it, and has another parent. */
function launcherPidOf({ ASSAY_LAUNCHER_PID }: NodeJS.ProcessEnv): number | undefined {
  const launcherPid = Number(ASSAY_LAUNCHER_PID)
  return launcherPid === process.ppid ? launcherPid : undefined
}

/** `assay jobs`: the background work alone. */
export async function jobsCommand(config: Config): Promise<Outcome> {
  keepMemoryFlat()
  const { serve } = await import('../app/serve.ts')
  await serve(config, { demo: false, jobs: 'alone' })
  return done({ ok: true }, [])
}

function processesOf(text: string): number {
  try {
    return servingSettings.PROCESSES.parse(text)
  } catch (error) {
    throw new UsageError(
      `--processes must be ${error instanceof Error ? error.message : 'a number'}`,
    )
  }
}
