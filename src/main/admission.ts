/** Composes the admission of requests: authentication, credits and payments, with their jobs. */
import { openKeyAuthenticator } from '../accounts/access/authenticate.ts'
import { operatorAuthenticator } from '../accounts/access/operator-tokens.ts'
import { openSessions } from '../accounts/sessions.ts'
import { openCreditMeter } from '../billing/credits/metering.ts'
import type { PaymentPort } from '../edge/http/payments.ts'
import type { ServerOptions } from '../edge/server.ts'
import type { Job } from '../platform/job-runner.ts'
import type { ServiceOptions } from './context.ts'

export interface OpenedAdmission {
  /** The server options for authentication, metering and payments. */
  admission: Admission
  /** Looks up sessions on the operator's own listener, whose cookie may have another name. */
  operatorSessions: Admission['authenticateSession']
  /** Jobs of every serving process. */
  admissionJobs: Job[]
  /** Writes the records still in memory to the database. */
  close(): Promise<void>
}

export type Admission = Required<
  Pick<
    ServerOptions,
    | 'authenticate'
    | 'authenticateOperator'
    | 'authenticateSession'
    | 'endedKey'
    | 'expectedKey'
    | 'metering'
    | 'payments'
    | 'failedKeyLimits'
    | 'notFoundLimits'
  >
>

export interface AdmissionOptions extends Pick<ServiceOptions, 'config' | 'db' | 'log' | 'clock'> {
  payments: PaymentPort | undefined
}

export function openAdmission(options: AdmissionOptions): OpenedAdmission {
  const { config, db, log, clock, payments } = options
  const { metering, prices, failedKeyLimits, notFoundLimits, publicUrl } = config
  const keys = openKeyAuthenticator({ db, clock })
  const credits = openCreditMeter({ db, prices, clock })
  const sessions = openSessions({ db, clock, publicUrl, rules: config.sessions })
  const operatorSessions =
    config.operator === null
      ? sessions
      : openSessions({ db, clock, publicUrl: config.operatorUrl, rules: config.sessions })
  const recordLastSeen = async (): Promise<void> => {
    await Promise.all([...new Set([sessions, operatorSessions])].map((one) => one.recordLastSeen()))
  }
  return {
    operatorSessions: operatorSessions.authenticate,
    admission: {
      authenticate: keys.authenticate,
      expectedKey: keys.expectedKey,
      endedKey: keys.endedKey,
      authenticateSession: sessions.authenticate,
      authenticateOperator: operatorAuthenticator({ db, clock }),
      metering: metering ? credits : undefined,
      payments: metering ? payments : undefined,
      failedKeyLimits,
      notFoundLimits,
    },
    admissionJobs: [
      { name: 'uses of API keys', everyMs: 30_000, run: () => keys.recordUses() },
      { name: 'uses of sessions', everyMs: 30_000, run: recordLastSeen },
      { name: 'void charges', everyMs: 5_000, run: () => credits.writeRefunds() },
    ],
    async close() {
      const report = (message: string) => (error: unknown) => log.error(message, error)
      await Promise.all([
        keys.recordUses().catch(report('the last uses of API keys were lost')),
        recordLastSeen().catch(report('the last uses of sessions were lost')),
        credits.close().catch(report('refunds were lost: unanswered calls may stay charged')),
      ])
    },
  }
}
