/**
 * Keyed routes on their own port. Every bearer token `ACCOUNT` or `ACCOUNT/SCOPE` is a valid key of
 * that account.
 */
import { createHash } from 'node:crypto'
import { readConfig } from '../../../src/config/config.ts'
import type { Authenticate } from '../../../src/edge/http/admission.ts'
import type { Scope } from '../../../src/edge/http/callers.ts'
import type { Contract, RateLimits } from '../../../src/edge/http/contract.ts'
import { endpointsOf, type Handlers } from '../../../src/edge/http/endpoint.ts'
import { ask, type Reply } from './ask.ts'
import { startEdge, type TestEdge } from './edge.ts'

export interface KeyedEdge extends TestEdge {
  /** Sends JSON with a key of `account`. A string body is sent unchanged. */
  call(account: string, question: Call): Promise<Answered>
}

export interface Call {
  method?: string
  path: string
  body?: unknown
  idempotencyKey?: string
  headers?: Record<string, string>
}

export interface Answered extends Reply {
  json: Record<string, unknown>
}

/** Limits that no test reaches. */
const noLimits = { perMinute: 100_000_000, perDay: 100_000_000 }

/** Starts the endpoints of a contract. Stop them with `after(() => edge.stop())`. */
export async function startKeyed<Declared extends Contract>(
  contract: Declared,
  handlers: Handlers<Declared>,
  limits: RateLimits = noLimits,
): Promise<KeyedEdge> {
  const endpoints = endpointsOf(contract, handlers, {
    ...readConfig({}),
    keyLimits: limits,
    agentReportLimits: limits,
  })
  const edge = await startEdge({ endpoints, authenticate })
  const call = async (account: string, question: Call): Promise<Answered> => {
    const { method, path, body, idempotencyKey, headers = {} } = question
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await ask(`http://127.0.0.1:${edge.port}`, {
      ...(method === undefined ? {} : { method }),
      path,
      headers: {
        Authorization: `Bearer ${account}`,
        ...(text === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
    })
    return { ...reply, json: JSON.parse(reply.body.toString()) }
  }
  return { ...edge, call }
}

const everyScope: readonly Scope[] = ['webhooks:write', 'agent-decisions:write']

const authenticate: Authenticate = (authorization) => {
  const [account = '', scope] = authorization.replace('Bearer ', '').split('/')
  const scopes = everyScope.filter((each) => scope === undefined || each === scope)
  return Promise.resolve({
    caller: {
      kind: 'key',
      keyId: uuidOf(`key of ${account}`),
      accountId: uuidOf(account),
      environment: 'live',
    },
    scopes,
    credits: { balance: 0, suspended: false },
  })
}

/** Returns the account id that belongs to this name. */
export function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
