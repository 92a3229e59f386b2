/**
 * The official payer of version 1, x402-fetch, in a process of its own: its packages are not ours. Reads one order from standard input,
 * buys it, and prints a line of JSON for each request it made and the receipt at the end, as the client decodes it.
 */
import { text } from 'node:stream/consumers'
import { privateKeyToAccount } from 'viem/accounts'
import { decodeXPaymentResponse, wrapFetchWithPayment } from 'x402-fetch'

const { url, privateKey, purchaseId } = JSON.parse(await text(process.stdin))
const walletClient = privateKeyToAccount(privateKey)
const fetch = toldFetch

// As docs/pay-with-x402.md has it.
const fetchPaid = wrapFetchWithPayment(fetch, walletClient)
const answer = await fetchPaid(url, { headers: { 'Idempotency-Key': purchaseId } })
const receipt = decodeXPaymentResponse(answer.headers.get('x-payment-response'))

say({ receipt })

/** What the client sends and gets, told on the way. */
async function toldFetch(input, init) {
  const request = new Request(input, init)
  const answer = await globalThis.fetch(request)
  say({
    url: request.url,
    payment: request.headers.get('X-PAYMENT'),
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: await answer.clone().text(),
  })
  return answer
}

function say(step) {
  process.stdout.write(`${JSON.stringify(step)}\n`)
}
