/** A local chain with the token that payers pay in. Its settings are those of Base Sepolia. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { networks } from '../../../../src/billing/x402/protocol/terms.ts'
import { balanceStorageSlot, pausedSlot, tokenCode } from './token.ts'

const network = networks['base-sepolia']

export interface TestChain {
  url: string
  /** Private key of an account that holds ether for gas. */
  relayerKey: `0x${string}`
  /** Balance in atomic units of the token. */
  balanceOf(address: string): Promise<bigint>
  setBalance(address: string, amount: bigint): Promise<void>
  /** Makes the token reject every transfer, or accept transfers again. */
  setPaused(isPaused: boolean): Promise<void>
  call(method: string, params?: readonly unknown[]): Promise<unknown>
  stop(): Promise<void>
}

/** Returns the path of anvil, or null if there is no anvil for this platform. */
export function anvilBinary(): string | null {
  const names: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }
  const platform = process.platform === 'win32' ? 'win32' : process.platform
  const name = `@foundry-rs/anvil-${platform}-${names[process.arch] ?? process.arch}`
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const file = new URL(`bin/anvil${platform === 'win32' ? '.exe' : ''}`, `file://${manifest}`)
    return existsSync(file) ? file.pathname : null
  } catch {
    return null
  }
}

/** A publicly known key that every anvil chain funds. It has no funds on any other chain. */
const relayerKey = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const multicallAddress = '0xcA11bde05977b3631167028862bE2a173976CA11'

export async function startChain(): Promise<TestChain> {
  const binary = anvilBinary()
  if (binary === null) throw new Error('there is no anvil for this platform')
  const child = spawn(binary, ['--chain-id', String(network.chainId), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const url = await listeningUrl(child.stdout)
  const call = (method: string, params: readonly unknown[] = []) => rpc(url, method, params)
  const balanceOf = async (address: string): Promise<bigint> => {
    const slot = balanceStorageSlot(address)
    return BigInt(String(await call('eth_getStorageAt', [network.asset, slot, 'latest'])))
  }
  await call('anvil_setCode', [network.asset, tokenCode])
  await call('anvil_setCode', [multicallAddress, await multicallCode(call)])
  // The first block has no timestamp, and authorizations need one.
  await call('evm_mine')
  return {
    url,
    relayerKey,
    balanceOf,
    call,
    async setBalance(address, amount) {
      await call('anvil_setStorageAt', [network.asset, balanceStorageSlot(address), word(amount)])
    },
    async setPaused(isPaused) {
      await call('anvil_setStorageAt', [network.asset, word(pausedSlot), word(isPaused ? 1 : 0)])
    },
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    },
  }
}

function word(value: bigint | number): string {
  return `0x${value.toString(16).padStart(64, '0')}`
}

async function listeningUrl(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const address = /Listening on (\S+)/.exec(line)?.[1]
    if (address === undefined) continue
    // Discards further output, so that the pipe never fills.
    output.resume()
    return `http://${address}`
  }
  throw new Error('anvil ended before it listened')
}

/**
 * Returns the runtime code of the Multicall3 contract. viem contains the creation code, and the
 * chain turns it into runtime code.
 */
async function multicallCode(call: TestChain['call']): Promise<unknown> {
  const file = new URL('../constants/contracts.js', import.meta.resolve('viem/chains'))
  const { multicall3Bytecode } = (await import(file.href)) as { multicall3Bytecode: string }
  return call('eth_call', [{ data: multicall3Bytecode }, 'latest'])
}

async function rpc(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as {
    result?: unknown
    error?: { message: string }
  }
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}
