/** A deployment as operators and callers use it: commands issue and revoke, callers use HTTP. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { VerifyResult } from '../../../src/credentials/schema.ts'
import { verifyOffline } from '../../../src/credentials/verify-offline.ts'
import type { Json } from '../build/credentials.ts'
import { ask, type Reply } from './ask.ts'
import { type Env, report } from './processes.ts'

export interface IssuedJson extends Json {
  id: string
  credentialStatus: { id: string; statusListCredential: string; statusListIndex: string }
}

const engine = { engineVersion: '1.4.2', engineBinarySha256: '51'.repeat(32) }

let files = 0
let workers = 0

/** Returns a score of a new worker, as a line of `credentials issue --from`. */
export function scoreLine(over: Json = {}): Json {
  const username = `flow-${process.pid}-${++workers}`
  const interval = { confidenceLow: 701, confidenceHigh: 778, evidenceCount: 18 }
  return { username, score: 742, ...interval, ...engine, ...over }
}

/** Runs `assay credentials issue` and returns the credentials in the order of the scores. */
export async function issue(env: Env, folder: string, scores: Json[]): Promise<IssuedJson[]> {
  const from = join(folder, `scores-${++files}.ndjson`)
  const out = join(folder, `issued-${files}.ndjson`)
  writeFileSync(from, scores.map((score) => `${JSON.stringify(score)}\n`).join(''))
  await report(['credentials', 'issue', '--from', from, '--out', out], env)
  return credentialsIn(out)
}

/** Returns the credentials in the complete lines of a file. The last line may be incomplete. */
export function credentialsIn(file: string): IssuedJson[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

export async function revoke(env: Env, ids: readonly string[]): Promise<void> {
  const { revoked } = await report(
    ['credentials', 'revoke', '--yes', ...ids.flatMap((id) => ['--id', id])],
    env,
  )
  assert.equal(revoked, ids.length)
}

export interface Timed<Body> {
  status: number
  headers: Reply['headers']
  body: Body
  ms: number
}

export async function timed<Body>(asking: Promise<Reply>): Promise<Timed<Body>> {
  const startedAt = performance.now()
  const { status, headers, body } = await asking
  const ms = performance.now() - startedAt
  return { status, headers, body: JSON.parse(body.toString('utf8')), ms }
}

let callers = 0

/**
 * Verifies a credential. Each call comes from a new client address unless `from` is set; this needs
 * TRUSTED_PROXIES=127.0.0.1.
 */
export function verify(
  base: string,
  credential: Json,
  from?: string,
): Promise<Timed<VerifyResult>> {
  callers++
  const caller = from ?? `10.${callers >> 16}.${(callers >> 8) & 255}.${callers & 255}`
  return timed(
    ask(base, {
      method: 'POST',
      path: '/api/v1/score-vc/verify',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': caller },
      body: JSON.stringify(credential),
    }),
  )
}

export function get<Body = Json>(base: string, path: string): Promise<Timed<Body>> {
  return timed(ask(base, { path }))
}

export function statusOf(base: string, { credentialStatus }: IssuedJson) {
  return get<{ status: string; revoked: boolean }>(base, pathOf(credentialStatus.id))
}

export function listOf(base: string, { credentialStatus }: IssuedJson) {
  return get(base, pathOf(credentialStatus.statusListCredential))
}

/**
 * Returns the offline verdicts with only the DID document and the status lists. Every signature is
 * checked, and a valid verdict has read a list.
 */
export async function verdictsByList(
  base: string,
  credentials: readonly IssuedJson[],
): Promise<VerifyResult[]> {
  const { body: key } = await get(base, '/.well-known/did.json')
  const oneOfEach = new Map(credentials.map((one) => [listUrlOf(one), one]))
  const lists: Json[] = []
  for (const credential of oneOfEach.values()) lists.push((await listOf(base, credential)).body)
  return credentials.map((credential) => {
    const files = { key, lists }
    const result = verifyOffline(credential, null, { files, now: new Date() })
    // Until a list is signed anew after a theft, it counts as none, and the verdict is not valid.
    if (result.valid) assert.ok(result.notes.includes('status_source:list'), JSON.stringify(result))
    return result
  })
}

function listUrlOf({ credentialStatus }: IssuedJson): string {
  return credentialStatus.statusListCredential
}

export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}
