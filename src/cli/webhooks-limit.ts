/** `assay webhooks limit`: how fast an endpoint is sent to. */
import type { Config } from '../config/config.ts'
import { lockEndpoint } from '../webhooks/delivery/endpoint-store.ts'
import { type DeliveryLimits, setLimits } from '../webhooks/delivery/rate-store.ts'
import { usageError } from './fail.ts'
import type { Outcome } from './output.ts'
import { changeEndpoint, refusalOf } from './webhook-endpoint.ts'

export interface LimitFlags {
  perSecond?: string
  atOnce?: string
}

const perSecondMax = 1_000
const atOnceMax = 16

export function limitCommand(
  config: Config,
  endpoint: string,
  flags: LimitFlags,
): Promise<Outcome> {
  const limits = limitsOf(flags)
  return changeEndpoint(config, endpoint, async (tx, id) => {
    if ((await lockEndpoint(tx, { endpointId: id, owner: 'any' })) === undefined)
      return refusalOf('no such endpoint')
    await setLimits(tx, id, limits)
    return {
      entry: { action: 'webhooks.limited', subjects: [id], details: limits },
      result: limits,
      lines: [`${id} is sent ${toldOf(limits)}.`],
    }
  })
}

function limitsOf({ perSecond, atOnce }: LimitFlags): DeliveryLimits {
  if (perSecond === undefined && atOnce === undefined)
    throw usageError('Give --per-second, --at-once or both.')
  return {
    ...(perSecond !== undefined && {
      perSecond: perSecond === 'off' ? null : countOf('--per-second', perSecond, perSecondMax),
    }),
    ...(atOnce !== undefined && { atOnce: countOf('--at-once', atOnce, atOnceMax) }),
  }
}

function countOf(name: string, text: string, max: number): number {
  const count = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > max) throw usageError(`${name} takes a number from 1 to ${max}.`)
  return count
}

function toldOf({ perSecond, atOnce }: DeliveryLimits): string {
  const rate = perSecond === null ? 'as fast as it takes' : `at most ${perSecond} a second`
  const parts = perSecond === undefined ? [] : [rate]
  if (atOnce !== undefined) parts.push(`at most ${atOnce} at once`)
  return parts.join(', ')
}
