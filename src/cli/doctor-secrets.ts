/** What `assay doctor` says of what is not in the database: whether this machine has the secrets that rows of it rest on, and can be paid. */
import { findMissingPeppers } from '../access/peppers.ts'
import { findPeppers, type PepperInUse } from '../access/store.ts'
import { missingPayee, openPayments } from '../app/payments.ts'
import { readPeppers } from '../app/peppers.ts'
import { readSecretsKeyring } from '../app/secrets-keyring.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Queryable } from '../platform/db/db.ts'
import { openLog } from '../platform/observability/log.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { openSecret } from '../webhooks/delivery/secret.ts'
import { findSealedSamples, type SealedRow } from '../webhooks/endpoints/store.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

export async function secretFindings(db: Db, config: Config): Promise<Finding[]> {
  return [
    await unlessThrown('api keys', () => keyPeppers(db, config)),
    await unlessThrown('secrets', () => webhookSecrets(db, config)),
    await unlessThrown('payments', () => payments(db, config)),
  ]
}

type Told = string | { warning: string }

async function unlessThrown(check: string, look: () => Promise<Told>): Promise<Finding> {
  try {
    const told = await look()
    return typeof told === 'string' ? ok(check, told) : warn(check, told.warning)
  } catch (error) {
    return fail(check, error instanceof Error ? error.message : String(error))
  }
}

async function keyPeppers(db: Queryable, config: Config): Promise<Told> {
  const now = systemClock()
  const missing = await findMissingPeppers(db, (await readPeppers(config)) ?? new Map(), now)
  const used = await findPeppers(db, now)
  const keys = sumOf(used)
  if (missing.length > 0) {
    const unchecked = sumOf(used.filter(({ kid }) => missing.some((one) => one.kid === kid)))
    const why = missing.map(({ message }) => message).join(' ')
    throw new Error(`${unchecked} of ${keys} active keys get 503 from this machine. ${why}`)
  }
  return keys === 0 ? 'none yet' : `${keys} active, and the peppers they rest on are here`
}

function sumOf(peppers: readonly PepperInUse[]): number {
  return peppers.reduce((sum, { activeKeys }) => sum + activeKeys, 0)
}

/** One that a key seals tells for all of them. */
async function webhookSecrets(db: Queryable, config: Config): Promise<Told> {
  const ring = (await readSecretsKeyring(config)) ?? new Map()
  const samples = await findSealedSamples(db)
  for (const sample of samples) refuseOtherKey(sample, ring)
  return samples.length === 0 ? 'no webhook has one yet' : 'those of webhooks can be opened'
}

function refuseOtherKey({ endpointId, version, ...sealed }: SealedRow, ring: Keyring): void {
  try {
    openSecret(sealed, { endpointId, version }, ring)
  } catch {
    const what = ring.has(sealed.kid) ? 'has another one by that name' : 'lacks it'
    throw new Error(
      `webhooks are not sent: their secrets were sealed with the key ${sealed.kid}, and this machine ${what}. Restore SECRETS_KEYRING, or the file webhook-secrets.keys in the data directory.`,
    )
  }
}

/** Throws where the service would not start. */
async function payments(db: Db, config: Config): Promise<Told> {
  await using closing = new AsyncDisposableStack()
  const parts = { db, closing, log: openLog({ level: 'silent' }), metrics: createMetrics() }
  const x402 = await openPayments(config, parts)
  const payeeWarning = missingPayee(config)
  if (payeeWarning !== null) return { warning: `${payeeWarning}.` }
  if (x402 === null) return 'none: METERING is off'
  await x402.examine()
  const fitness = x402.fitness()
  return fitness === 'ok'
    ? `on the spot can be taken on ${config.x402?.network}`
    : { warning: `${fitness}: nobody can pay on the spot. Check the settings X402_*.` }
}
