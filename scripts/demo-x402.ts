/**
 * `npm run demo:x402`: a wallet buys reads with both families of official clients, and every step
 * is printed.
 */
import { STATUS_CODES } from 'node:http'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { anvilBinary } from '../test/support/start/chain/anvil.ts'
import { payWithX402Fetch } from '../test/support/start/x402-fetch.ts'
import { type DemoSetup, openSetup } from './demo-x402-setup.ts'

const closing = new AsyncDisposableStack()
let stopping: Promise<void> | undefined
const stop = (): Promise<void> => (stopping ??= closing.disposeAsync())
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stop().finally(() => process.exit(130)))

if (anvilBinary() === null) {
  say('There is no anvil, the program of the local chain, for this platform.')
  process.exitCode = 1
} else {
  say('Starting a local chain and an assay of its own …')
  try {
    await show(await openSetup(closing))
  } catch (error) {
    // After a stop signal, later failures are expected.
    if (stopping === undefined) throw error
  } finally {
    await stop()
  }
}

async function show(setup: DemoSetup): Promise<void> {
  const { base, username, scoreId, wallet } = setup
  say(
    `assay sells reads at ${base}. The wallet ${wallet.address} has no key and no account there, no ether, and ${await coins(setup, wallet.address)}.`,
  )
  title('With @x402/fetch, the official client of versions 1 and 2')
  const signed = { header: '' }
  const client = registerExactEvmScheme(new x402Client(), { signer: wallet })
  const buy = wrapFetchWithPayment(toldFetch(signed), client)
  await buy(`${base}/api/v1/candidates/search?q=@${username}`)
  await buy(`${base}/api/v1/candidates/${username}`)
  await buy(`${base}/api/v1/scores/${scoreId}`)
  await tellBalances(setup)

  title('With x402-fetch, the official client of version 1')
  await tellOther(setup)
  await tellBalances(setup)

  title('The last payment of the first client once more: its answer was lost, say')
  const headers = { 'X-PAYMENT': signed.header }
  await tellAnswer(await fetch(`${base}/api/v1/scores/${scoreId}`, { headers }))
  await tellBalances(setup)
}

/** Runs in its own process, because its packages are not those of the project. */
async function tellOther({ base, username, walletKey: privateKey }: DemoSetup): Promise<void> {
  const url = `${base}/api/v1/candidates/${username}`
  const purchaseId = 'a-purchase-of-the-other-client'
  const { steps } = await payWithX402Fetch({ url, privateKey, purchaseId })
  for (const { url, payment, status, headers, body } of steps) {
    tellRequest(url, payment)
    const statusText = STATUS_CODES[status] ?? ''
    await tellAnswer(new Response(body, { status, statusText, headers }))
  }
}

/** Wraps fetch and prints the requests and answers of the official client. */
function toldFetch(signed: { header: string }): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const header = request.headers.get('X-PAYMENT')
    signed.header = header ?? signed.header
    tellRequest(request.url, header)
    const answer = await fetch(request)
    await tellAnswer(answer)
    return answer
  }
}

function tellRequest(url: string, payment: string | null): void {
  if (payment === null) return title(`GET ${url}`)
  say(`The wallet signs, and asks again with X-PAYMENT (${payment.length} characters):`)
  say(indented(decoded(payment)))
}

async function tellAnswer(answer: Response): Promise<void> {
  const challenge = answer.headers.get('PAYMENT-REQUIRED')
  const receipt = answer.headers.get('PAYMENT-RESPONSE')
  say(`${answer.status} ${answer.statusText}`)
  if (challenge !== null) say(`PAYMENT-REQUIRED, the challenge:\n${indented(decoded(challenge))}`)
  if (receipt !== null) say(`PAYMENT-RESPONSE, the receipt:\n${indented(decoded(receipt))}`)
  if (answer.status !== 402) say(`The answer:\n${indented(await answer.clone().json())}`)
}

async function tellBalances(setup: DemoSetup): Promise<void> {
  const { wallet, payTo } = setup
  say(
    `\nOn the chain: the wallet has ${await coins(setup, wallet.address)}, the operator ${await coins(setup, payTo)}.`,
  )
}

async function coins({ chain }: DemoSetup, address: string): Promise<string> {
  return `${(Number(await chain.balanceOf(address)) / 1e6).toFixed(2)} USDC`
}

function decoded(header: string): unknown {
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/^/gm, '    ')
}

function title(text: string): void {
  say(`\n── ${text}`)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
