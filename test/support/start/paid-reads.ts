/** The whole service, started as by an operator, with candidates that a payer can look up. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Authorization } from '../../../src/billing/x402/protocol/payload.ts'
import { type Queryable, sql } from '../../../src/platform/db/db.ts'
import { giveScore, indexed } from '../build/candidates.ts'
import { base64Json, payloadV1, signAuthorization } from '../build/payments.ts'
import { publicLine, register } from '../build/workers.ts'
import { ask, type Reply } from './ask.ts'
import { databaseRole } from './database-role.ts'
import { type PaidLoop, terms } from './paid-loop.ts'
import { payTo } from './paid-server.ts'
import { type Env, report, type ServerProcess, startServer, temporaryFolder } from './processes.ts'

/** Ada has consented to be public; Mary has consented to nothing. */
export const scoreOf = { ada: 'ada0'.repeat(16), mary: 'face'.repeat(16) }

export const reads = {
  search: '/api/v1/candidates/search?q=ada',
  candidate: '/api/v1/candidates/ada',
  score: `/api/v1/scores/${scoreOf.ada}`,
}

/** Prices in atomic units. */
export const prices = { search: 30_000, candidate: 20_000, score: 10_000 }

export interface PaidReads {
  /**
   * Starts `assay serve` with the restricted database role. `more` adds settings to those of a
   * local facilitator.
   */
  start(more?: Env): Promise<ServerProcess>
}

export async function preparePaidReads({ chain, database }: PaidLoop): Promise<PaidReads> {
  const { db, url } = database
  const folder = temporaryFolder()
  const relayerKeyFile = join(folder, 'relayer.key')
  writeFileSync(relayerKeyFile, chain.relayerKey, { mode: 0o600 })
  await register(indexed(db), [publicLine(), publicLine({ username: 'mary', consents: [] })])
  await giveScore(db, 'ada', scoreOf.ada)
  await giveScore(db, 'mary', scoreOf.mary)
  const env: Env = {
    DATABASE_URL: url,
    ASSAY_DATA_DIR: folder,
    PUBLIC_URL: 'https://scores.example.org',
    TRUSTED_PROXIES: '127.0.0.1',
    X402_FACILITATOR: 'local',
    X402_RPC_URL: chain.url,
    X402_RELAYER_KEY_FILE: relayerKeyFile,
    X402_PAY_TO: payTo,
    X402_SECRETS: 'a secret of at least thirty-two characters',
    X402_PRICE_CANDIDATE_SEARCH: String(prices.search),
    X402_PRICE_CANDIDATE_LOOKUP: String(prices.candidate),
    X402_PRICE_SCORE_LOOKUP: String(prices.score),
  }
  await report(['keys', 'create'], env)
  const role = await databaseRole(url)
  after(() => role.drop())
  await report(['migrate', '--api-role', role.name], env)
  const served = { ...env, DATABASE_URL: role.url }
  return { start: (more = {}) => startServer({ ...served, ...more }, ['--no-jobs']) }
}

/** Returns the header of a version 1 payment of `amount` atomic units. */
export async function signedFor(
  amount: number,
  wallet: PrivateKeyAccount,
  changes: Partial<Authorization> = {},
): Promise<string> {
  const asked = { ...terms, amount: String(amount) }
  return base64Json(payloadV1(await signAuthorization(wallet, asked, changes), asked))
}

let callers = 0

/**
 * Sends a request with a payment. Each call comes from a new client address unless `from` is set.
 */
export function payFor(
  base: string,
  header: string,
  question: { path: string; method?: string; headers?: Record<string, string>; from?: string },
): Promise<Reply> {
  const from = question.from ?? `10.0.${++callers >> 8}.${callers & 255}`
  const headers = { 'X-PAYMENT': header, 'X-Forwarded-For': from, ...question.headers }
  return ask(base, { ...question, headers })
}

/**
 * Tells whether a read of scores waits for a lock. A test that locks the table holds the read in
 * the middle.
 */
export async function isReading(db: Queryable): Promise<boolean> {
  const waiting = await db.rows(sql`
    select 1 from pg_locks where relation = 'score_snapshots'::regclass and not granted`)
  return waiting.length > 0
}
