/**
 * The origin of a call. IPv4: one bucket. IPv6: the /64 with factor 1 and the /48 with factor 10
 * times the limits.
 */
export interface ClientNetwork {
  /** The address itself; absent if it is unknown or the call is counted in another way. */
  address?: string
  buckets: readonly { key: string; factor: number }[]
}
