/**
 * Onboarding: a worker needs a username, a display name, accepted terms and the consent to a public
 * profile. Every registered worker has the two names.
 */
import type { Tx } from '../platform/db/db.ts'
import { type Acceptance, completeOnboarding, type Worker, writeTerms } from './store.ts'

/**
 * Records accepted terms and onboards the workers that are then complete. Returns the ids of the
 * workers whose terms changed.
 */
export async function acceptTerms(
  tx: Tx,
  accepted: readonly Acceptance[],
  at: Date,
): Promise<string[]> {
  if (accepted.length === 0) return []
  const changed = await writeTerms(tx, accepted)
  await completeOnboarding(tx, changed, at)
  return changed
}

/** Lists the requirements that the worker still has to meet before it is onboarded. */
export function missingFor({
  onboardedAt,
  termsAcceptedAt,
  consents,
}: Pick<Worker, 'onboardedAt' | 'termsAcceptedAt'> & {
  consents: { public_profile?: { granted: boolean } }
}): string[] {
  if (onboardedAt !== null) return []
  return [
    ...(termsAcceptedAt === null ? ['terms'] : []),
    ...(consents.public_profile?.granted ? [] : ['consent public_profile']),
  ]
}
