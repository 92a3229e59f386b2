/** Decides whether a payment may be made, before the caller's wallet is asked. */
import type { Payer } from './client-types.ts'
import { PaymentRefusedError } from './errors.ts'
import type { PaymentChallenge, PaymentRequirement } from './wire.ts'

/** Returns the payment header for a request to `url`. Throws before it asks for a signature. */
export async function payFor(
  challenge: PaymentChallenge,
  payer: Payer,
  url: string,
): Promise<string> {
  const refusals: string[] = []
  const accepts = challenge.accepts.filter((requirement) => {
    const refusal = refusalOf(requirement, payer, url)
    if (refusal !== null) refusals.push(refusal)
    return refusal === null
  })
  if (accepts.length === 0)
    throw new PaymentRefusedError(`Nothing was paid: ${refusals.join('; ')}.`, {
      error: 'payment_refused',
    })
  return payer.header({ ...challenge, accepts })
}

function refusalOf(
  { network, asset, maxAmountRequired, amount, resource }: PaymentRequirement,
  { networks, assets, maxAmount }: Payer,
  url: string,
): string | null {
  if (!networks.includes(network)) return `the network ${network} is not one of yours`
  if (!assets.some((own) => own.toLowerCase() === asset.toLowerCase()))
    return `the asset ${asset} is not one of yours`
  for (const price of [maxAmountRequired, amount ?? maxAmountRequired]) {
    if (!/^\d{1,78}$/.test(price)) return 'the amount is not a whole number'
    if (BigInt(price) > BigInt(maxAmount)) return `${price} is more than ${maxAmount}`
  }
  // Compares parsed addresses: a service may write a port or an encoded letter in another way.
  return isSameAddress(resource, url) ? null : `it is for ${resource}, and ${url} was asked`
}

function isSameAddress(one: string, other: string): boolean {
  if (!URL.canParse(one)) return false
  const [a, b] = [new URL(one), new URL(other)]
  a.searchParams.sort()
  b.searchParams.sort()
  return a.href === b.href
}
