/**
 * Callers that verify, search, read for credits and create webhook endpoints without a pause.
 * Counts the correct answers and collects the others.
 */
import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { ask } from '../start/ask.ts'
import { type IssuedJson, verify } from '../start/deployment.ts'

export interface MixedLoad {
  /** Number of calls of each kind with the expected answer. */
  done: Record<CallKind, number>
  /** Calls with any other answer, one sentence each. */
  failed: string[]
  stop(): Promise<void>
}

export const callKinds = ['verify', 'search', 'paid read', 'webhook create'] as const
export type CallKind = (typeof callKinds)[number]

export interface LoadParts {
  credential: IssuedJson
  /** Username of a public candidate. */
  username: string
  /** API key with every scope and enough credits. */
  key: string
}

export function callOf(base: string, kind: CallKind, parts: LoadParts) {
  const headers = { Authorization: `Bearer ${parts.key}` }
  if (kind === 'search')
    return ask(base, { path: `/api/v1/candidates/search?q=%40${parts.username}`, headers })
  if (kind === 'paid read')
    return ask(base, { path: `/api/v1/candidates/${parts.username}`, headers })
  const body = JSON.stringify({
    url: 'https://hooks.example.com/assay',
    events: ['score.updated'],
  })
  const idempotent = { 'Content-Type': 'application/json', 'Idempotency-Key': randomUUID() }
  return ask(base, {
    method: 'POST',
    path: '/api/v1/webhooks/endpoints',
    headers: { ...headers, ...idempotent },
    body,
  })
}

export function mixedLoad(base: string, parts: LoadParts): MixedLoad {
  const done = { verify: 0, search: 0, 'paid read': 0, 'webhook create': 0 }
  const failed: string[] = []
  const stopping = new AbortController()
  const caller = async (kind: CallKind): Promise<void> => {
    while (!stopping.signal.aborted) {
      const why = await outcomeOf(base, kind, parts).catch(String)
      if (why === null) done[kind]++
      else failed.push(`${kind}: ${why}`)
      await turn()
    }
  }
  const callers = Promise.all(callKinds.map(caller))
  return {
    done,
    failed,
    async stop() {
      stopping.abort()
      await callers
    },
  }
}

/**
 * Returns null for the expected answer, otherwise a description of the answer. A created endpoint
 * is disabled at once, because the number of endpoints of an account is limited.
 */
async function outcomeOf(base: string, kind: CallKind, parts: LoadParts): Promise<string | null> {
  if (kind === 'verify') {
    const { status, body } = await verify(base, parts.credential)
    return status === 200 && body.valid ? null : `${status} ${JSON.stringify(body)}`
  }
  const { status, body } = await callOf(base, kind, parts)
  const text = body.toString('utf8')
  if (kind === 'webhook create') {
    if (status !== 201) return `${status} ${text}`
    const { id } = JSON.parse(text).endpoint
    const headers = { Authorization: `Bearer ${parts.key}` }
    const path = `/api/v1/webhooks/endpoints/${id}`
    const disabled = await ask(base, { method: 'DELETE', path, headers })
    return disabled.status === 200 ? null : `DELETE ${disabled.status} ${disabled.body.toString()}`
  }
  return status === 200 && text.includes(parts.username) ? null : `${status} ${text}`
}
