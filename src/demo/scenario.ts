/**
 * Pure: the events of the demo's history, and the expected verification results of its files. Days
 * count back from the day on which the demo is seeded.
 */
import type { NewCredential } from '../credentials/issue.ts'

/** The sample credentials by file name. `reason` is that of verification, null if valid. */
export const samples = {
  valid: { reason: null, description: 'Genuine and current.' },
  revoked: {
    reason: 'revoked',
    description:
      'Genuine, and revoked by its issuer, because the evidence behind it was not genuine.',
  },
  tampered: {
    reason: 'signature_invalid',
    description: 'The score was changed after signing.',
  },
  expired: {
    reason: 'expired',
    description: 'Genuine, and past its last day. The worker’s identity was not checked again.',
  },
  superseded: {
    reason: null,
    description:
      'Genuine and valid. The worker has a newer credential: the result notes `superseded`.',
  },
  'wrong-issuer': {
    reason: 'issuer_mismatch',
    description: 'Correctly signed, by another organisation.',
  },
} as const

export type Sample = Exclude<keyof typeof samples, 'wrong-issuer'>

/** The username of each sample’s worker. */
export const sampleWorkers: Record<Sample, string> = {
  valid: 'demo-amara-okonkwo',
  revoked: 'demo-lucia-marchetti',
  tampered: 'demo-piotr-zielinski',
  expired: 'demo-noor-haddad',
  superseded: 'demo-teun-visser',
}

/** Withdraws the consent to share the score, which revokes the credentials. */
export const withdrawn = { username: 'demo-gideon-marsh', daysAgo: 50 }

/** Disputes the score. The service hides the score until the dispute is resolved. */
export const disputing = { username: 'demo-marek-novotny', daysAgo: 3, dueDaysAgo: -27 }

/** The worker with revoked evidence, and the number of revoked items. */
export const revokedEvidence = { username: sampleWorkers.revoked, items: 2, daysAgo: 12 }

/** The worker whose identity check expires after the first score and is not repeated. */
export const lapsed = { username: sampleWorkers.expired, daysAgo: 345 }

/** Days on which workers and evidence are imported and scored. The last one scores all workers. */
export const importDays = [380, 300, 240, 180, 120, 70, 30, 14, 2] as const

/** The age of the demo's signing key, so that it is active on every day of the scenario. */
export const keyDaysAgo = 400

/** Overrides the setting, so that the oldest credential has expired. */
export const validityDays = 365

/** The score in the tampered credential. */
export const tamperedScore = 891

/** A fictional organisation with its own signing key. */
export const foreign = { url: 'https://scores.northwind.example', daysAgo: 30 }

export const foreignScore: Omit<NewCredential, 'issuedAt'> = {
  id: '3f0c2f1e-6f0a-4c38-9a53-2b1d0c5e7a91',
  username: 'demo-jonas-weber',
  score: 905,
  scoreBand: 'exceptional',
  confidenceLow: 880,
  confidenceHigh: 927,
  evidenceCount: 64,
  engineVersion: '7.0.1',
  engineBinarySha256: '0'.repeat(64),
}

export const dayMs = 86_400_000

/** Returns a date-time in UTC, to the second. A negative `daysAgo` is a day in the future. */
export function timeAgo(seededAt: Date, daysAgo: number): string {
  const time = new Date(seededAt.getTime() - daysAgo * dayMs)
  return `${time.toISOString().slice(0, 19)}Z`
}

/** Returns the date in UTC as `YYYY-MM-DD`. */
export function dayAgo(seededAt: Date, daysAgo: number): string {
  return timeAgo(seededAt, daysAgo).slice(0, 10)
}
