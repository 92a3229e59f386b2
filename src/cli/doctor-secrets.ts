/**
 * The checks of `assay doctor` on secrets outside the database: whether this machine holds the
 * secrets that rows depend on, and whether it can take payments.
 */
import type { Config } from '../config/config.ts'
import { missingPayee, openPayments } from '../main/payments.ts'
import { readSecretsKeyring } from '../main/secrets-keyring.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Queryable } from '../platform/db/db.ts'
import { openLog } from '../platform/observability/log.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { findSealedSamples, type SealedRow } from '../webhooks/api.ts'
import { openSecret } from '../webhooks/delivery/secret.ts'
import { type Finding, fail, ok, warn } from './doctor-finding.ts'

export async function checkSecrets(db: Db, config: Config, isDemo: boolean): Promise<Finding[]> {
  return [
    await runCheck('secrets', () => checkWebhookSecrets(db, config)),
    await runCheck('payments', () => checkPayments(db, config, isDemo)),
  ]
}

type CheckResult = string | { warning: string }

async function runCheck(check: string, look: () => Promise<CheckResult>): Promise<Finding> {
  try {
    const result = await look()
    return typeof result === 'string' ? ok(check, result) : warn(check, result.warning)
  } catch (error) {
    return fail(check, error instanceof Error ? error.message : String(error))
  }
}

/** Opens one secret for each encryption key, because it stands for all secrets under that key. */
async function checkWebhookSecrets(db: Queryable, config: Config): Promise<CheckResult> {
  const ring = (await readSecretsKeyring(config)) ?? new Map()
  const samples = await findSealedSamples(db)
  for (const sample of samples) requireSameKey(sample, ring)
  return samples.length === 0 ? 'no webhook has one yet' : 'those of webhooks can be opened'
}

function requireSameKey({ endpointId, version, ...sealed }: SealedRow, ring: Keyring): void {
  try {
    openSecret(sealed, { endpointId, version }, ring)
  } catch {
    const state = ring.has(sealed.kid) ? 'has another key of that name' : 'lacks it'
    throw new Error(
      `webhooks are not sent: their secrets were sealed with the key ${sealed.kid}, and this machine ${state}. Restore SECRETS_KEYRING, or the file webhook-secrets.keys in the data directory.`,
    )
  }
}

/** Throws if the service would not start. */
async function checkPayments(db: Db, config: Config, isDemo: boolean): Promise<CheckResult> {
  await using closing = new AsyncDisposableStack()
  const parts = { db, closing, log: openLog({ level: 'silent' }), metrics: createMetrics() }
  const x402 = await openPayments(config, parts)
  const payeeWarning = missingPayee(config)
  if (isDemo && payeeWarning !== null)
    return 'the demo challenges callers without a key, and takes no payment'
  if (payeeWarning !== null) return { warning: `${payeeWarning}.` }
  if (x402 === null) return 'none: METERING is off'
  await x402.examine()
  const fitness = x402.fitness()
  return fitness === 'ok'
    ? `x402 payments can be taken on ${config.x402?.network}`
    : { warning: `${fitness}: x402 payments cannot be taken. Check the settings X402_*.` }
}
