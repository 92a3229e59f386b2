/**
 * The demo's webhook receiver: a TLS server on 127.0.0.1 that verifies each event and shows it in
 * the terminal. Each start registers it again as an endpoint of the account `demo`. Deliveries to
 * it use a separate client that may reach 127.0.0.1 and trusts its certificate. The egress rules
 * for all other endpoints do not change.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { findAccount } from '../accounts/api.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Clock } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { type Egress, openEgress } from '../platform/egress/client.ts'
import { type EgressRules, strangerRules } from '../platform/egress/rules.ts'
import { findActiveIds, findEndpoints } from '../webhooks/api.ts'
import { verifySignature } from '../webhooks/delivery/attempt-request.ts'
import { replaySince } from '../webhooks/delivery/resend.ts'
import {
  type CreationInput,
  type CreationRules,
  createEndpoint,
  readEndpointRequest,
} from '../webhooks/endpoints/create.ts'
import { disableEndpoint } from '../webhooks/endpoints/enable.ts'
import { eventTypeNames } from '../webhooks/events/event-types.ts'
import { accountName } from './account.ts'
import { createAuthority } from './certificates.ts'
import { dayMs, revokedEvidence } from './scenario.ts'

export interface DemoReceiverOptions {
  db: Db
  clock: Clock
  ring: Keyring
  /** The limit of active endpoints of one account. */
  activeMax: number
  say(line: string): void
}

export interface DemoReceiver {
  /**
   * Returns a client that sends to the receiver itself, also for the failing endpoint, and to all
   * other URLs through `usual`.
   */
  wrapEgress(usual: Egress): Egress
  close(): Promise<void>
}

/** Returns null if the demo has no account, or the account has reached its endpoint limit. */
export async function openDemoReceiver(options: DemoReceiverOptions): Promise<DemoReceiver | null> {
  const authority = createAuthority()
  let secret = ''
  const server = createServer(authority.certify('127.0.0.1'), (request, response) => {
    answer(request, response, { secret, ...options }).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `https://127.0.0.1:${port}/events`
  const rules = strangerRules({ allowCidrs: ['127.0.0.1'], ports: [port] })
  const own = openEgress({ rules, extraCa: authority.cert })
  const close = async (): Promise<void> => {
    await own.close()
    server.close()
    server.closeAllConnections()
  }
  const registered = await options.db
    .transaction((tx) => register(tx, options, { url, rules }))
    .catch(async (error: unknown) => {
      // An open port would keep a process alive that cannot start.
      await close()
      throw error
    })
  if (registered === null) {
    await close()
    return null
  }
  secret = registered
  return {
    wrapEgress: (usual) => ({
      send: (request) => {
        if (request.url === url) return own.send(request)
        if (request.url !== failing.url) return usual.send(request)
        return own.send({ ...request, url: `https://127.0.0.1:${port}${failingPath}` })
      },
      close: () => usual.close(),
    }),
    close,
  }
}

/** The URL of the endpoint that fails on purpose. */
export const failingUrl = 'https://hooks.northwind.example/assay'

const description = 'The receiver in the terminal of the demo'

/**
 * The endpoint that fails. Its host does not exist; the receiver answers instead, so that the demo
 * needs no network. It is older than three events of the scenario: so many failures in a row make
 * an endpoint failing.
 */
const failing = {
  url: failingUrl,
  events: ['evidence.revoked', 'dispute.opened'],
  description: 'Payroll sync of the demo: it always fails',
  daysAgo: revokedEvidence.daysAgo + 1,
} as const
const failingPath = '/failing'

/** Creates the failing endpoint once, and sends it the events since its creation. */
async function ensureFailingEndpoint(
  tx: Tx,
  { accountId, rules, now }: { accountId: string; rules: CreationRules; now: Date },
): Promise<void> {
  const { url, description, daysAgo } = failing
  const request = { url, events: [...failing.events], description }
  const read = readEndpointRequest(request, strangerRules({}))
  if ('fault' in read) throw new Error(`the failing endpoint of the demo: ${read.fault}`)
  const since = new Date(now.getTime() - daysAgo * dayMs)
  const input = { userId: accountId, request: read.request, now: since }
  const idempotencyKey = 'demo-failing-endpoint'
  const created = await create(tx, rules, { ...input, idempotencyKey })
  if (created === null || created.isReplay) return
  // Fan-out sends the events that have no position yet. An older demo has given each its position.
  await replaySince(tx, { endpointId: created.endpoint.id, owner: 'any', since, at: now })
}

/** Creates an endpoint with its audit entry. Returns null at the limit of the account. */
async function create(tx: Tx, rules: CreationRules, input: CreationInput) {
  const created = await createEndpoint(tx, rules, input)
  if ('refusal' in created) return null
  if (!created.isReplay) await record(tx, 'webhooks.created', created.endpoint, input.now)
  return created
}

function record(
  tx: Tx,
  action: 'webhooks.created' | 'webhooks.disabled',
  { id, userId }: { id: string; userId: string },
  now: Date,
): Promise<void> {
  const entry = { action, subjects: [id], account: userId, details: {}, actor: operator() }
  return recordAction(tx, entry, now)
}

/** Registers the endpoint and returns its secret. Disables the endpoints of earlier starts. */
async function register(
  tx: Tx,
  { clock, ring, activeMax }: DemoReceiverOptions,
  { url, rules }: { url: string; rules: EgressRules },
): Promise<string | null> {
  const account = await findAccount(tx, accountName)
  if (account === undefined) return null
  const now = clock()
  const before = await findEndpoints(tx, await findActiveIds(tx, account.id), now)
  const left = before.filter((one) => one.description === description).map(({ id }) => id)
  for (const endpointId of left) {
    const own = { endpointId, owner: { userId: account.id } }
    const disabled = await disableEndpoint(tx, { ...own, reason: 'owner', now })
    if ('changed' in disabled && disabled.changed)
      await record(tx, 'webhooks.disabled', disabled.endpoint, now)
  }
  const read = readEndpointRequest({ url, events: [...eventTypeNames], description }, rules)
  if ('fault' in read) throw new Error(`the demo's receiver: ${read.fault}`)
  await ensureFailingEndpoint(tx, { accountId: account.id, rules: { ring, activeMax }, now })
  const input = { userId: account.id, request: read.request, idempotencyKey: null, now }
  const created = await create(tx, { ring, activeMax }, input)
  return created?.signingSecret ?? null
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { secret, clock, say }: { secret: string } & Pick<DemoReceiverOptions, 'clock' | 'say'>,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const body = Buffer.concat(chunks)
  if (request.url === failingPath) {
    response.writeHead(500, { 'Content-Type': 'text/plain' }).end('The payroll table is locked.')
    return
  }
  const header = String(request.headers['service-webhook-signature'] ?? '')
  const nowSeconds = clock().getTime() / 1_000
  if (!verifySignature(header, { secret, body, nowSeconds })) {
    response.writeHead(400).end()
    return
  }
  response.writeHead(204).end()
  const { type, id, data } = JSON.parse(String(body))
  say(`webhook ${type} received, signature verified: ${id} ${JSON.stringify(data)}`)
}
