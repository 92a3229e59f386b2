/** `assay serve` and `worker`: the settings, with what the command line changes of them, to the serving process. */
import { type Config, readConfig } from '../config.ts'
import { servingSettings } from '../settings/serving.ts'
import { keepMemoryFlat } from './flat-memory.ts'
import { done, type Outcome } from './output.ts'
import { UsageError } from './run.ts'

export interface ServeFlags {
  demo?: boolean
  processes?: string
  /** False with --no-worker. */
  worker: boolean
}

export async function serveCommand(given: Config, flags: ServeFlags): Promise<Outcome> {
  const config = flags.demo ? withDemoPayments(given) : given
  const processes = flags.processes === undefined ? config.processes : processesOf(flags.processes)
  // The demo speaks to a person: a line for each request would bury its commands.
  const logLevel = flags.demo && !process.env.LOG_LEVEL ? 'warn' : config.logLevel
  const { serve } = await import('../main.ts')
  await serve(
    { ...config, processes, logLevel },
    { demo: flags.demo ?? false, worker: flags.worker ? 'here' : 'elsewhere' },
  )
  return done({ ok: true }, [])
}

/** Whoever asks the demo without a key is challenged, though nobody can pay: to try that, there is `npm run demo:x402`. */
function withDemoPayments(config: Config): Config {
  if (!config.metering || process.env.X402_FACILITATOR) return config
  const { X402_PAY_TO, X402_SECRETS } = process.env
  return readConfig({
    ...process.env,
    X402_FACILITATOR: 'none',
    X402_FACILITATOR_URL: undefined,
    X402_RELAYER_KEY_FILE: undefined,
    X402_PAY_TO: X402_PAY_TO || '0x000000000000000000000000000000000000dEaD',
    X402_SECRETS: X402_SECRETS || 'nothing is paid here; nothing is secret',
  })
}

/** `assay worker`: the background work alone. */
export async function workerCommand(config: Config): Promise<Outcome> {
  keepMemoryFlat()
  const { serve } = await import('../main.ts')
  await serve(config, { demo: false, worker: 'alone' })
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
