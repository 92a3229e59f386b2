/** Keys, credits and payments put together: how callers are admitted, and what serving processes do for it. */
import { openKeyAuthenticator } from '../access/authenticate.ts'
import { openSessions } from '../accounts/sessions.ts'
import type { Config } from '../config/config.ts'
import { openCreditDesk } from '../credits/metering.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { PaymentPort } from '../platform/http/payments.ts'
import type { Job } from '../platform/job-runner.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Readiness } from '../server/health.ts'
import type { ServerOptions } from '../server/server.ts'
import { peppersHere } from './peppers.ts'

export interface Admitting {
  /** How the edge finds out who calls and who pays. */
  admission: Admission
  /** What every serving process does beside answering. */
  admissionJobs: Job[]
  /** Of the readiness check `keys`. */
  keysState(): Readiness[string]
  /** Writes down what is still in memory. */
  close(): Promise<void>
}

export type Admission = Required<
  Pick<
    ServerOptions,
    | 'authenticate'
    | 'authenticateSession'
    | 'metering'
    | 'payments'
    | 'failedKeyLimits'
    | 'notFoundLimits'
  >
>

export interface AdmittingParts {
  config: Config
  db: Db
  log: Log
  clock: Clock
  payments: PaymentPort | undefined
}

export function admitting({ config, db, log, clock, payments }: AdmittingParts): Admitting {
  const { metering, prices, failedKeyLimits, notFoundLimits, publicUrl } = config
  const peppers = () => peppersHere(config)
  const keys = openKeyAuthenticator({ db, peppers, clock })
  const credits = openCreditDesk({ db, prices, clock })
  const examinePeppers = async (): Promise<void> => {
    const before = kidsOf(keys.missingPeppers())
    await keys.examinePeppers()
    const missing = keys.missingPeppers()
    if (kidsOf(missing) === before) return
    for (const { kid: pepper, message } of missing) log.error(message, null, { pepper })
    if (missing.length === 0) log.info('the peppers of all active API keys are on this machine')
  }
  const sessions = openSessions({ db, clock, publicUrl, rules: config.sessions })
  return {
    admission: {
      authenticate: keys.authenticate,
      authenticateSession: sessions.authenticate,
      metering: metering ? credits : undefined,
      payments: metering ? payments : undefined,
      failedKeyLimits,
      notFoundLimits,
    },
    admissionJobs: [
      { name: 'uses of API keys', everyMs: 30_000, run: () => keys.recordUses() },
      { name: 'examine peppers', everyMs: 30_000, run: examinePeppers },
      { name: 'uses of sessions', everyMs: 30_000, run: () => sessions.recordLastSeen() },
      { name: 'void charges', everyMs: 5_000, run: () => credits.settleVoids() },
    ],
    keysState() {
      const missing = kidsOf(keys.missingPeppers())
      if (missing === '') return 'ok'
      return { degraded: `active API keys rest on peppers that this machine lacks: ${missing}` }
    },
    async close() {
      const lost = (what: string) => (error: unknown) => log.error(`${what}: lost`, error)
      await Promise.all([
        keys.recordUses().catch(lost('when API keys were used last')),
        sessions.recordLastSeen().catch(lost('when sessions were used last')),
        credits.close().catch(lost('calls that were not answered, and may stay charged')),
      ])
    },
  }
}

function kidsOf(missing: readonly { kid: string }[]): string {
  return missing.map(({ kid }) => kid).join(', ')
}
