/** The public verifier: verifies a presented credential against the live registry. */
import { batched } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import { lookUp, type PublicReads } from '../platform/db/replicas.ts'
import { UnavailableError } from '../platform/errors.ts'
import type { RegistryCache } from './registry-cache.ts'
import type { VerifyResult } from './schema.ts'
import { signatureCache } from './signature-cache.ts'
import { findStatuses } from './store.ts'
import { type RegisteredStatus, type StatusQuestion, verifyCredential } from './verify.ts'

export interface VerifierOptions {
  reads: PublicReads
  registryCache: RegistryCache
  clock: Clock
  /** SHA-256 of every engine of this release and of earlier ones. */
  engines: ReadonlySet<string>
  /**
   * Called if a signature verifies but the registry does not contain the credential: the key may be
   * stolen.
   */
  onUnregistered: (kid: string) => void
}

export interface Verifier {
  verify: Verify
  /** Reads a database on every call; concurrent calls share a statement. */
  askStatus(question: StatusQuestion): Promise<RegisteredStatus>
}

/** `ambiguity` is the reason why the JSON of the credential is ambiguous, or null. */
export type Verify = (
  presented: Record<string, unknown>,
  ambiguity: string | null,
) => Promise<VerifyResult>

export function openVerifier(options: VerifierOptions): Verifier {
  const { reads, registryCache, clock, engines, onUnregistered } = options
  const signatures = signatureCache()
  const askStatus = batched<StatusQuestion, RegisteredStatus>({
    name: 'credential status',
    async run(questions) {
      const found = await lookUp(reads, questions, async (db, asked) =>
        (await findStatuses(db, asked)).map((one) => (one.kind === 'unknown' ? undefined : one)),
      )
      return found.map((one) => one ?? { kind: 'unknown' })
    },
    batchesMax: reads.databases,
    deadline: 'databaseAnswer',
  })
  const verifyLive: Verify = async (presented, ambiguity) => {
    const verify = (): Promise<VerifyResult> =>
      verifyCredential(presented, ambiguity, {
        trust: registryCache.trust(),
        signatures,
        engines,
        now: clock(),
        statusOf: (question) => askStatus(question).catch(unavailableStatus),
      })
    let result = await verify()
    // The key may have been created or activated after the last refresh of the registry cache.
    // Concurrent refreshes share one read.
    if (result.reason === 'unknown_key' && (await isRefreshed(registryCache)))
      result = await verify()
    if (result.reason === 'status_unknown') onUnregistered(kidIn(result.presented))
    return result
  }
  return { verify: verifyLive, askStatus }
}

/**
 * If the database is unavailable, the verdict fails closed (decision D29). Any other error is a
 * defect and is thrown.
 */
function unavailableStatus(error: unknown): RegisteredStatus {
  if (error instanceof UnavailableError) return { kind: 'unavailable' }
  throw error
}

/** Returns false if the database is unavailable; the registry cache then stays unchanged. */
async function isRefreshed(registryCache: RegistryCache): Promise<boolean> {
  try {
    await registryCache.refresh()
    return true
  } catch (error) {
    if (error instanceof UnavailableError) return false
    throw error
  }
}

function kidIn(presented: Record<string, unknown>): string {
  return String(presented.verificationMethod).split('#')[1] ?? ''
}
