/** Onboarding: username and display name (every registered person has them), terms, and the consent to a public profile. */
import type { Tx } from '../platform/db/db.ts'
import { type Acceptance, completeOnboarding, type Person, writeTerms } from './store.ts'

/** Records the terms accepted; whoever has everything then is onboarded. Gives the ids of those for whom something changed. */
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

/** What is missing until the person is onboarded. */
export function missingFor({ onboardedAt, termsAcceptedAt, consents }: Person): string[] {
  if (onboardedAt !== null) return []
  return [
    ...(termsAcceptedAt === null ? ['terms'] : []),
    ...(consents.public_profile?.granted ? [] : ['consent public_profile']),
  ]
}
