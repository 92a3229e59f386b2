/** Pure: the kinds of sources with the highest assurance of each. */

interface SourceKind {
  /** In permille. The operator may set a lower assurance for a source, never a higher one. */
  assuranceMax: number
  /**
   * Group of every source of this kind, if the sources of the kind are not independent of each
   * other.
   */
  group?: string
  meaning: string
}

export const sourceKindNames = [
  'self',
  'unverified_peer',
  'verified_peer',
  'organisation',
  'accredited',
  'machine_verified',
] as const
export type SourceKindName = (typeof sourceKindNames)[number]

/**
 * The lowest assurance above 0. A lighter result could drift a score with its age, where the pulls
 * of the others cancel.
 */
export const assuranceMin = 100

export const sourceKinds: Readonly<Record<SourceKindName, SourceKind>> = {
  self: {
    assuranceMax: 0,
    group: 'self',
    meaning: 'The worker: claims are kept and score nothing.',
  },
  unverified_peer: {
    assuranceMax: 100,
    group: 'unverified-peers',
    meaning: 'People nobody has identified. All of them together are one voice.',
  },
  verified_peer: { assuranceMax: 400, meaning: 'An identified person who worked with the worker.' },
  organisation: { assuranceMax: 700, meaning: 'An employer, a client, a platform.' },
  accredited: { assuranceMax: 1_000, meaning: 'An examiner whose work others have checked.' },
  machine_verified: { assuranceMax: 1_000, meaning: 'A result that a machine can check again.' },
}
