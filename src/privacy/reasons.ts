/** Pure: why a person is erased: the word that the audit log keeps. */
export const erasureReasons = ['worker_request', 'no_longer_needed', 'unlawful', 'policy'] as const
export type ErasureReason = (typeof erasureReasons)[number]
