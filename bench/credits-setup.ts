/**
 * Prepares the benchmark of credits: workers with scores, accounts with keys, and requests for
 * them.
 */
import { createAccount, createApiKey } from '../src/accounts/access/manage.ts'
import { enterCredits } from '../src/billing/credits/credits.ts'
import { scopes } from '../src/edge/http/callers.ts'
import { type Db, sql } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { withSearchIndex } from '../src/workers/candidates/search-indexer.ts'
import { skillNames } from '../src/workers/candidates/skill-names.ts'
import { giveScore } from '../test/support/build/candidates.ts'
import { publicLine, register } from '../test/support/build/workers.ts'
import { requestsFile } from './serving.ts'

const workerCount = 1_000

export const username = (i: number): string => `person-${String(i).padStart(4, '0')}`
export const scoreId = (i: number): string => i.toString(16).padStart(64, '0')

export async function makeWorkers(db: Db): Promise<void> {
  const names = skillNames([])
  const workers = Array.from({ length: workerCount }, (_, i) =>
    publicLine({ username: username(i), displayName: `Person ${i}`, title: 'Engineer' }),
  )
  await register(
    withSearchIndex(db, () => names),
    workers,
  )
  for (let i = 0; i < workerCount; i++) await giveScore(db, username(i), scoreId(i))
}

export interface Account {
  id: string
  keyIds: string[]
  keys: string[]
}

/** One key may make 60,000 calls a minute to a route, and an account has at most 20 keys. */
export async function makeAccount(db: Db, keyCount: number): Promise<Account> {
  const now = new Date()
  const account = await db.transaction((tx) => createAccount(tx, `account ${uuidV7(now)}`, now))
  if (account === null) throw new Error('no account')
  const { id: accountId } = account
  const made: Account = { id: accountId, keyIds: [], keys: [] }
  for (let i = 0; i < keyCount; i++) {
    const wanted = {
      accountId,
      environment: 'live',
      name: 'bench',
      scopes,
      allowedFrom: null,
      expiresAt: null,
    } as const
    const key = await db.transaction((tx) => createApiKey(tx, wanted, { now: new Date() }))
    if ('refusal' in key) throw new Error(key.refusal)
    made.keyIds.push(key.id)
    made.keys.push(key.key)
  }
  await db.transaction((tx) =>
    enterCredits(tx, { accountId, kind: 'grant', delta: 1e12, reason: 'bench' }),
  )
  return made
}

/** Copies keys, balances and scores into plain tables for the peer. `body` is each answer. */
export async function makePeerTables(db: Db, body: string): Promise<void> {
  await db.run(sql`create table peer_keys (digest bytea primary key, id uuid, account_id uuid)`)
  await db.run(sql`insert into peer_keys select digest, id, account_id from api_keys`)
  await db.run(sql`create table peer_accounts (id uuid primary key, balance bigint not null)`)
  await db.run(sql`insert into peer_accounts select account_id, balance from credit_accounts`)
  await db.run(sql`create table peer_scores (id text primary key, body text not null)`)
  await db.run(sql`
    insert into peer_scores select encode(snapshot_id, 'hex'), ${body} from score_snapshots`)
  await db.run(sql`
    create table peer_windows (
      key_id uuid, minute timestamptz, calls integer not null, primary key (key_id, minute))`)
  await db.run(sql`
    create table peer_entries (
      id bigint generated always as identity primary key, account_id uuid not null,
      amount integer not null, at timestamptz not null default now())`)
}

export const routes = {
  score: (i: number) => `/api/v1/scores/${scoreId(i % workerCount)}`,
  detail: (i: number) => `/api/v1/candidates/${username(i % workerCount)}`,
  search: (i: number) => `/api/v1/candidates/search?q=${username(i % workerCount)}&limit=5`,
}
export type Route = keyof typeof routes

export const routeNames: readonly Route[] = ['score', 'detail', 'search']

/** Writes a file of reads of one route that uses `keys` in turn. */
export function readsFile(file: string, route: Route, keys: readonly string[]): string {
  const all = Array.from({ length: 2_000 }, (_, i) => {
    const key = keys[i % keys.length] ?? ''
    return `GET ${routes[route](i)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`
  })
  return requestsFile(file, all)
}
