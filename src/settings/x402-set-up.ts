/** The settings of payments on the spot, held against each other: half a set-up stops the start. */
import type { X402Settings } from '../x402/open.ts'

export interface X402Values {
  metering: boolean
  facilitator: 'off' | X402Settings['facilitator']['kind']
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

/** Null where payments on the spot are off. Adds what is wrong to `problems`. */
export function x402SettingsOf(values: X402Values, problems: string[]): X402Settings | null {
  const { facilitator, payTo, secrets, rpcUrl } = values
  if (facilitator === 'off') return null
  const [secret, ...former] = secrets ?? []
  const chosen = { none: noneOf, remote: remoteOf, local: localOf }[facilitator](values)
  if (!values.metering)
    problems.push('METERING=off lets nobody pay: set X402_FACILITATOR=off as well')
  if (payTo === undefined) problems.push('X402_PAY_TO must be set where payments are on')
  if (secret === undefined) problems.push('X402_SECRETS must be set where payments are on')
  if (typeof chosen === 'string') problems.push(chosen)
  if (facilitator !== 'local' && values.relayerKeyFile !== undefined)
    problems.push('X402_RELAYER_KEY_FILE is for X402_FACILITATOR=local alone')
  if (facilitator !== 'remote' && values.facilitatorUrl !== undefined)
    problems.push('X402_FACILITATOR_URL is for X402_FACILITATOR=remote alone')
  if (payTo === undefined || secret === undefined || typeof chosen === 'string') return null
  const { network, amounts, maxTimeoutSeconds, headerVersion } = values
  const common = { network, payTo, amounts, maxTimeoutSeconds, headerVersion }
  return { ...common, secrets: [secret, ...former], facilitator: chosen }

  function noneOf() {
    return { kind: 'none', rpcUrl: rpcUrl ?? null } as const
  }
  function remoteOf({ facilitatorUrl: url, facilitatorAuthorization }: X402Values) {
    if (url === undefined) return 'X402_FACILITATOR_URL must be set where the facilitator is remote'
    const authorization = facilitatorAuthorization ?? null
    return { kind: 'remote', url, authorization, rpcUrl: rpcUrl ?? null } as const
  }
  function localOf({ relayerKeyFile }: X402Values) {
    if (rpcUrl === undefined || relayerKeyFile === undefined)
      return 'X402_RPC_URL and X402_RELAYER_KEY_FILE must be set where the facilitator is local'
    return { kind: 'local', rpcUrl, relayerKeyFile } as const
  }
}
