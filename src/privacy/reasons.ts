/** Pure: the reasons for an erasure, as the audit log keeps them. */
export const erasureReasons = ['worker_request', 'no_longer_needed', 'unlawful', 'policy'] as const
