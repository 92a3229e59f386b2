/**
 * Sets up the x402 demo: a chain, a separate assay that sells reads of the demo's candidates, and a
 * wallet. Everything is removed at the end. The machine's own assay is not touched.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { startChain, type TestChain } from '../test/support/start/chain/anvil.ts'
import { program } from '../test/support/start/program.ts'

export interface DemoSetup {
  chain: TestChain
  /** Address of the separate assay. */
  base: string
  /** Candidate that is read. */
  username: string
  scoreId: string
  /** Holds one USDC and no ether. */
  wallet: PrivateKeyAccount
  walletKey: `0x${string}`
  /** The operator's address, empty at first. */
  payTo: string
}

/** A candidate of the demo. */
const username = 'demo-amara-okonkwo'

/** Throws if there is no chain program for this platform. `closing` stops everything. */
export async function openSetup(closing: AsyncDisposableStack): Promise<DemoSetup> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-demo-x402-'))
  closing.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  // If this process is root, the database runs as another user, which must be able to enter.
  chmodSync(folder, 0o755)
  const chain = await startChain()
  closing.defer(() => chain.stop())
  const walletKey = generatePrivateKey()
  const wallet = privateKeyToAccount(walletKey)
  await chain.setBalance(wallet.address, 1_000_000n)
  const payTo = privateKeyToAccount(generatePrivateKey()).address
  const port = await freePort()
  const base = `http://localhost:${port}`
  writeFileSync(join(folder, 'relayer.key'), chain.relayerKey, { mode: 0o600 })
  const env = {
    PATH: process.env.PATH ?? '',
    ASSAY_DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    PUBLIC_URL: base,
    METRICS_PORT: 'off',
    LOG_LEVEL: 'info',
    X402_FACILITATOR: 'local',
    X402_RPC_URL: chain.url,
    X402_RELAYER_KEY_FILE: join(folder, 'relayer.key'),
    X402_PAY_TO: payTo,
    X402_SECRETS: generatePrivateKey(),
    TIMEOUT_MULTIPLIER: process.env.TIMEOUT_MULTIPLIER ?? '1',
  }
  const run = (args: readonly string[]) =>
    spawn(process.execPath, [program, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 2] })
  const server = run(['serve', '--demo'])
  closing.defer(() => stop(server))
  await untilListening(server)
  const { scores } = JSON.parse(await outputOf(run(['scores', 'show', username, '--json'])))
  const scoreId = String(scores[0].snapshotId)
  return { chain, base, username, scoreId, wallet, walletKey, payTo }
}

async function outputOf(child: ChildProcess): Promise<string> {
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = await once(child, 'close')
  const text = Buffer.concat(chunks).toString('utf8')
  if (code !== 0) throw new Error(`${child.spawnargs.slice(2).join(' ')} failed:\n${text}`)
  return text
}

async function untilListening({ stdout }: ChildProcess): Promise<void> {
  if (stdout === null) throw new Error('the server has no output')
  let said = ''
  for await (const line of createInterface({ input: stdout })) {
    said += `${line}\n`
    if (!line.includes('"listening"')) continue
    // Later output must not fill the pipe.
    stdout.resume()
    return
  }
  throw new Error(`assay did not start:\n${said}`)
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = once(server, 'exit')
  server.kill('SIGINT')
  await gone
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
