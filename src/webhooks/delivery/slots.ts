/** Pure: dealing slots. Endpoints take turns, so that none waits behind another's backlog. */

export interface DueEndpoint {
  endpointId: string
  /** Number of further deliveries that the endpoint may have in flight. */
  room: number
  /**
   * The endpoint has failed for a while. All failing endpoints together get only a part of the
   * slots.
   */
  isFailing: boolean
  /** The endpoint has a rate, from which its grants are taken. */
  hasRate: boolean
}

export interface Grant {
  endpointId: string
  count: number
}

/**
 * Deals `slots` out, one to each endpoint in turn and in the given order, until slots or rooms are
 * used up. Failing endpoints together get at most `failingSlots`.
 */
export function dealSlots(
  endpoints: readonly DueEndpoint[],
  { slots, failingSlots }: { slots: number; failingSlots: number },
): Grant[] {
  const counts = endpoints.map(() => 0)
  let left = slots
  let failingLeft = failingSlots
  for (let dealt = true; dealt && left > 0; ) {
    dealt = false
    for (const [i, { room, isFailing }] of endpoints.entries()) {
      const count = counts[i] as number
      if (left === 0) break
      if (count >= room || (isFailing && failingLeft <= 0)) continue
      counts[i] = count + 1
      left--
      if (isFailing) failingLeft--
      dealt = true
    }
  }
  return endpoints.flatMap(({ endpointId }, i) => {
    const count = counts[i] as number
    return count > 0 ? [{ endpointId, count }] : []
  })
}
