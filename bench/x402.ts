/**
 * An x402 paid read over HTTP, beside bare node:http that makes the same two calls to the same facilitator and answers the same bytes.
 * The facilitator agrees at once, so what is left is ours: decoding, the signature, the ledger's three durable writes. The official
 * Express middleware is not here: it takes no payload of version 1 and its packages are not installed. Each payment is used once.
 */

import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { openDb, sql } from '../src/platform/db.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { migrate } from '../src/platform/migrate.ts'
import { maySpend } from '../src/x402/signature.ts'
import { ask } from '../test/support/ask.ts'
import { payTo, startPaidServer } from '../test/support/paid-server.ts'
import {
  base64Json,
  payloadV1,
  signAuthorization,
  testTerms,
  testWallet,
} from '../test/support/payments.ts'
import { median, report } from './measure.ts'

const payments = Number(process.env.BENCH_PAYMENTS ?? 300)
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
chmodSync(folder, 0o755)
const postgres = await startEmbeddedPostgres({
  dataDir: join(folder, 'data'),
  durable: true,
  log: () => {},
})
await migrate(postgres.url, resolve(import.meta.dirname, '../migrations'), new Date())
const db = openDb({
  url: postgres.url,
  connectionsMax: 16,
  applicationName: 'bench x402',
  onError: () => {},
})

const agreeing = createServer(agree)
const facilitator = await listen(agreeing)
const bare = createServer((request, response) => void answerBare(request, response))
const bareBase = await listen(bare)
const ours = await startPaidServer({
  db,
  chain: { url: facilitator, relayerKey: `0x${'1'.repeat(64)}` },
  settings: {
    facilitator: { kind: 'remote', url: facilitator, authorization: null, rpcUrl: null },
  },
})

const wallet = testWallet()
const terms = { ...testTerms, payTo }
const headers = await Promise.all(
  Array.from({ length: payments }, async () =>
    base64Json(payloadV1(await signAuthorization(wallet, terms), terms)),
  ),
)
const took = { ours: [] as number[], bare: [] as number[] }
for (const [i, header] of headers.entries()) {
  const bareMs = await timeOf(bareBase, header)
  const oursMs = await timeOf(ours.base, header)
  // The first ones load the code that recovers signatures.
  if (i < payments / 10) continue
  took.ours.push(oursMs)
  took.bare.push(bareMs)
}
const parts = { commit: [] as number[], signature: [] as number[] }
await db.run(sql`create table bench_commits (id integer)`)
const { authorization, signature } = await signAuthorization(wallet, terms)
const signed = {
  authorization: { ...authorization, from: authorization.from.toLowerCase() },
  signature,
  network: 'base-sepolia',
  scheme: 'exact',
  accepted: null,
  idempotencyKey: null,
}
for (let i = 0; i < 50; i++) {
  const began = performance.now()
  await db.run(sql`insert into bench_commits values (${i})`)
  const committed = performance.now()
  if (!(await maySpend(signed, terms))) throw new Error('the signature is right')
  parts.commit.push(committed - began)
  parts.signature.push(performance.now() - committed)
}
const added = took.ours.map((ms, i) => ms - (took.bare[i] ?? Number.NaN))
report('x402: a paid read, one at a time, facilitator without delay', [
  { name: 'ours', value: median(took.ours), unit: 'ms, median' },
  { name: 'bare node:http, same facilitator calls', value: median(took.bare), unit: 'ms, median' },
  { name: 'of it: one durable commit, of three', value: median(parts.commit), unit: 'ms, median' },
  { name: 'of it: recovering the signature', value: median(parts.signature), unit: 'ms, median' },
  { name: 'added by us', value: median(added), unit: 'ms, median', target: { max: 3 } },
])

await ours.stop()
for (const server of [bare, agreeing]) {
  server.close()
  server.closeAllConnections()
}
await db.close()
await postgres.stop()
rmSync(folder, { recursive: true, force: true })

async function timeOf(base: string, header: string): Promise<number> {
  const began = performance.now()
  const reply = await ask(base, { path: '/things/1', headers: { 'X-PAYMENT': header } })
  const ms = performance.now() - began
  if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.body.toString()}`)
  return ms
}

function agree(request: IncomingMessage, response: ServerResponse): void {
  request.resume().once('end', () => {
    const transaction = `0x${'5'.repeat(64)}`
    const answer = { isValid: true, success: true, transaction, network: 'eip155:84532' }
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer))
  })
}

/** The least that can be sold: ask, ask, answer. */
async function answerBare({ headers }: IncomingMessage, response: ServerResponse): Promise<void> {
  const paymentPayload = JSON.parse(Buffer.from(String(headers['x-payment']), 'base64').toString())
  for (const path of ['/verify', '/settle']) {
    const answer = await fetch(`${facilitator}${path}`, {
      method: 'POST',
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: terms }),
    })
    await answer.json()
  }
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ id: '1' }))
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
