/**
 * Pure: what happens in the demo, and what a verifier says of the credentials in its files. Days are counted back from the moment at
 * which the story is told.
 */
import type { NewCredential } from '../score-credentials/issue.ts'

/** The credentials that each show one finding, by file name: the reason that verification gives, or null; and what happened. */
export const lessons = {
  valid: { reason: null, what: 'Genuine and current.' },
  revoked: {
    reason: 'revoked',
    what: 'Genuine, and taken back by its issuer: the evidence behind it was not.',
  },
  tampered: {
    reason: 'signature_invalid',
    what: 'Genuine once; then somebody wrote a better score into it.',
  },
  expired: {
    reason: 'expired',
    what: 'Genuine, and past its last day: nobody has checked the person’s identity since.',
  },
  superseded: {
    reason: null,
    what: 'Genuine and true of its date. The same person has a newer one: the verifier notes `superseded`.',
  },
  'wrong-issuer': {
    reason: 'issuer_mismatch',
    what: 'Well signed, by an organisation that is not this one.',
  },
} as const

export type Lesson = Exclude<keyof typeof lessons, 'wrong-issuer'>

/** Whose credential teaches it. */
export const heroes: Record<Lesson, string> = {
  valid: 'demo-amara-okonkwo',
  revoked: 'demo-lucia-marchetti',
  tampered: 'demo-piotr-zielinski',
  expired: 'demo-noor-haddad',
  superseded: 'demo-teun-visser',
}

/** Took back the consent to share the score, and its credentials with it. */
export const withdrawn = { username: 'demo-gideon-marsh', daysAgo: 50 }

/** Disputes the score, which is not shown until it is resolved. */
export const disputing = { username: 'demo-marek-novotny', daysAgo: 3, dueDaysAgo: -27 }

/** Whose evidence turned out to be somebody else’s; how many items were taken back. */
export const revokedEvidence = { username: heroes.revoked, items: 2, daysAgo: 12 }

/** The check of this person’s identity ran out after the first score and was not repeated. */
export const lapsed = { username: heroes.expired, daysAgo: 345 }

/** On these days people were registered, evidence came in, and scores were computed; on the last one everybody’s. */
export const chapterDays = [380, 300, 240, 180, 120, 70, 30, 14, 2] as const

/** The demo's signing key is this much older than the story: it was active through all of it. */
export const keyDaysAgo = 400

/** Of the story's credentials, whatever the settings say: the first is meant to have expired. */
export const validityDays = 365

/** What the tampered one claims. */
export const tamperedScore = 891

/** Issued by a made-up organisation, with a key of its own. */
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
