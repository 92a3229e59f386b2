/** Checks the x402 settings against each other: an incomplete set stops the start. */
import type { X402Settings } from '../billing/x402/settlement/open.ts'

export interface X402Values {
  metering: boolean
  facilitator: X402Settings['facilitator']['kind']
  network: X402Settings['network']
  payTo: string | undefined
  amounts: X402Settings['amounts']
  maxTimeoutSeconds: number
  headerVersion: X402Settings['headerVersion']
  secrets: readonly string[] | undefined
  facilitatorUrl: string | undefined
  facilitatorAuthorization: string | undefined
  rpcUrl: string | undefined
  relayerKeyFile: string | undefined
}

/**
 * Signs the quotes of a server without a facilitator if X402_SECRETS is not set. It protects
 * nothing: such a server takes no payment, so a forged quote gains nothing. It is a constant, so
 * that every process accepts the quotes of the others.
 */
const secretWithoutFacilitator = 'no payment is taken, so this need not be secret'

/**
 * Returns null if callers without a key are not challenged (decision D21). Adds conflicts between
 * settings to `problems`.
 */
export function x402SettingsOf(values: X402Values, problems: string[]): X402Settings | null {
  const { metering, facilitator, payTo, secrets, rpcUrl } = values
  const isTaking = facilitator !== 'none'
  const [secret = isTaking ? undefined : secretWithoutFacilitator, ...former] = secrets ?? []
  const chosen = { none: noneOf, remote: remoteOf, local: localOf }[facilitator](values)
  if (isTaking && !metering)
    problems.push('METERING=off takes no payment: set X402_FACILITATOR=none as well')
  if (isTaking && payTo === undefined)
    problems.push(`X402_PAY_TO must be set if X402_FACILITATOR is ${facilitator}`)
  if (secret === undefined)
    problems.push(`X402_SECRETS must be set if X402_FACILITATOR is ${facilitator}`)
  if (typeof chosen === 'string') problems.push(chosen)
  if (facilitator !== 'local' && values.relayerKeyFile !== undefined)
    problems.push('X402_RELAYER_KEY_FILE is for X402_FACILITATOR=local alone')
  if (facilitator !== 'remote' && values.facilitatorUrl !== undefined)
    problems.push('X402_FACILITATOR_URL is for X402_FACILITATOR=remote alone')
  if (!metering || payTo === undefined || secret === undefined || typeof chosen === 'string')
    return null
  const { network, amounts, maxTimeoutSeconds, headerVersion } = values
  const common = { network, payTo, amounts, maxTimeoutSeconds, headerVersion }
  return { ...common, secrets: [secret, ...former], facilitator: chosen }

  function noneOf() {
    return { kind: 'none', rpcUrl: rpcUrl ?? null } as const
  }
  function remoteOf({ facilitatorUrl: url, facilitatorAuthorization }: X402Values) {
    if (url === undefined) return 'X402_FACILITATOR_URL must be set if the facilitator is remote'
    const authorization = facilitatorAuthorization ?? null
    return { kind: 'remote', url, authorization, rpcUrl: rpcUrl ?? null } as const
  }
  function localOf({ relayerKeyFile }: X402Values) {
    if (rpcUrl === undefined || relayerKeyFile === undefined)
      return 'X402_RPC_URL and X402_RELAYER_KEY_FILE must be set if the facilitator is local'
    return { kind: 'local', rpcUrl, relayerKeyFile } as const
  }
}
