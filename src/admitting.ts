/** Keys, credits and payments put together: how callers are admitted, what serving processes do for it, and what a worker does. */
import { join } from 'node:path'
import { openKeyDesk } from './access/authenticate.ts'
import { moveKeys } from './access/move-keys.ts'
import { presentPepper } from './access/peppers.ts'
import { operator, recordAction } from './audit/record.ts'
import type { Config } from './config.ts'
import { auditBooks } from './payments/audit-books.ts'
import { deletePurchases } from './payments/credit-store.ts'
import { openCreditDesk, purchasesEnd } from './payments/metering.ts'
import type { Clock } from './platform/clock.ts'
import type { Db } from './platform/db.ts'
import { type Keyring, keyringFile, readKeyringFile } from './platform/keyring.ts'
import type { Log } from './platform/log.ts'
import type { PaymentPort } from './platform/payments.ts'
import type { ServerOptions } from './server/server.ts'
import type { Job } from './worker.ts'

export interface Admitting {
  /** How the edge finds out who calls and who pays. */
  admission: Admission
  /** What every serving process does beside answering. */
  admissionJobs: Job[]
  /** Writes down what is still in memory. */
  close(): Promise<void>
}

export type Admission = Required<
  Pick<ServerOptions, 'authenticate' | 'metering' | 'payments' | 'failedKeyLimits' | 'missLimits'>
>

export interface AdmittingParts {
  config: Config
  db: Db
  log: Log
  clock: Clock
  payments: PaymentPort | undefined
}

export function admitting({ config, db, log, clock, payments }: AdmittingParts): Admitting {
  const { metering, prices, failedKeyLimits, missLimits } = config
  const peppers = () => peppersHere(config)
  const keys = openKeyDesk({ db, peppers, clock })
  const credits = openCreditDesk({ db, prices, clock })
  return {
    admission: {
      authenticate: keys.authenticate,
      metering: metering ? credits : undefined,
      payments: metering ? payments : undefined,
      failedKeyLimits,
      missLimits,
    },
    admissionJobs: [
      { name: 'uses of API keys', everyMs: 30_000, run: () => keys.recordUses() },
      { name: 'void charges', everyMs: 5_000, run: () => credits.settleVoids() },
    ],
    async close() {
      const lost = (what: string) => (error: unknown) => log.error(`${what}: lost`, error)
      await Promise.all([
        keys.recordUses().catch(lost('when API keys were used last')),
        credits.close().catch(lost('calls that were not answered, and may stay charged')),
      ])
    },
  }
}

/** Where the peppers of API keys are unless the settings hold them. */
function pepperFile(dataDir: string): string {
  return join(dataDir, 'api-key-peppers')
}

/** Null: neither settings nor file hold any yet. */
export async function peppersHere({
  apiKeyPeppers,
  dataDir,
}: WorkerParts['config']): Promise<Keyring | null> {
  return apiKeyPeppers ?? readKeyringFile(pepperFile(dataDir))
}

/** Those of the settings, else of the file, which the first key of all makes. */
export function peppersMade({
  apiKeyPeppers,
  dataDir,
}: Pick<Config, 'apiKeyPeppers' | 'dataDir'>): Promise<Keyring> {
  return apiKeyPeppers === undefined
    ? keyringFile(pepperFile(dataDir))
    : Promise.resolve(apiKeyPeppers)
}

interface WorkerParts {
  config: Pick<Config, 'apiKeyPeppers' | 'dataDir'>
  db: Db
  log: Log
  clock: Clock
}

/** Of a worker: keys that were used move to the present pepper. */
export function keyJobs({ config, db, log, clock }: WorkerParts): Job[] {
  const move = async (): Promise<void> => {
    const ring = await peppersHere(config)
    if (ring === null) return
    for (let keys = 1; keys > 0; ) {
      keys = await moveKeysRecorded(db, ring, clock())
      if (keys > 0) log.info('API keys rest on the present pepper now', { keys })
    }
  }
  return [{ name: 'move API keys', everyMs: 30_000, run: move }]
}

/** Returns how many moved. */
function moveKeysRecorded(db: Db, ring: Keyring, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const subjects = await moveKeys(tx, ring, now)
    const details = { pepper: presentPepper(ring).kid }
    const entry = { actor: operator(), action: 'api_keys.moved', subjects, details } as const
    if (subjects.length > 0) await recordAction(tx, entry, now)
    return subjects.length
  })
}

/** Of a worker. Each runs once at the start, and then every hour. */
export function creditJobs({ db, log, clock }: Omit<WorkerParts, 'config'>): Job[] {
  const everyMs = 3_600_000
  const audit = async (): Promise<void> => {
    const { broken } = await auditBooks(db, { now: clock(), fromStart: false })
    for (const { accountId: account, balance, entered } of broken) {
      const what = 'the books of an account do not add up: it is suspended'
      log.error(what, null, { account, balance, entered })
    }
  }
  const forget = () => deletePurchases(db, purchasesEnd(clock()))
  return [
    { name: 'audit the books', everyMs, run: audit },
    { name: 'forget purchases', everyMs, run: forget },
  ]
}
