/**
 * Runs x402-fetch, the official version 1 client, in its own process, because its packages are not
 * ours. Reads one order from standard input and buys it. Prints a line of JSON for each request,
 * and at the end the receipt as the client decodes it.
 */
import { text } from 'node:stream/consumers'
import { privateKeyToAccount } from 'viem/accounts'
import { decodeXPaymentResponse, wrapFetchWithPayment } from 'x402-fetch'

const { url, privateKey, purchaseId } = JSON.parse(await text(process.stdin))
const walletClient = privateKeyToAccount(privateKey)
const fetch = toldFetch

// The lines of docs/pay-with-x402.md.
const fetchPaid = wrapFetchWithPayment(fetch, walletClient)
const answer = await fetchPaid(url, { headers: { 'Idempotency-Key': purchaseId } })
const receipt = decodeXPaymentResponse(answer.headers.get('x-payment-response'))

say({ receipt })

/** Reports each request of the client and its answer. */
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
