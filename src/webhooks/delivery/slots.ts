/** Pure: who may send next. Endpoints take turns, so that none waits behind another's backlog. */

export interface DueEndpoint {
  endpointId: string
  /** How many more deliveries it may have under way. */
  room: number
  /** It has failed for a while: all such endpoints together get a part of the slots only. */
  isFailing: boolean
  /** It takes so many a second at most: what it is granted is taken from there. */
  hasRate: boolean
}

export interface Grant {
  endpointId: string
  count: number
}

/**
 * Deals `slots` out, one to each endpoint in turn, in the order given, until slots or rooms are used up; to failing ones not more than
 * `failingSlots` of them together.
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
