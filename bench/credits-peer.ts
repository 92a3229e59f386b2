/**
 * The peer of `credits.ts`: a plain service on node:http and the same database, with tables of its
 * own. For each read it looks the key up, counts the call in its minute, reads a ready body, debits
 * and enters the debit: in a transaction of six statements, or in one statement. It keeps no
 * request log, counts fixed windows, and builds no answer.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { keyDigest } from '../src/accounts/access/api-key.ts'

export interface CreditsPeerOrder {
  kind: 'six statements' | 'one statement'
  url: string
}

interface Read {
  body: string | null
  /** A bigint is read as text. */
  balance: string | null
}

const perMinute = 60_000

const one = {
  name: 'one',
  text: `with k as (select id, account_id from peer_keys where digest = $1),
    w as (
      insert into peer_windows select id, date_trunc('minute', now()), 1 from k
      on conflict (key_id, minute) do update set calls = peer_windows.calls + 1
        where peer_windows.calls < ${perMinute} returning calls),
    s as (select body from peer_scores where id = $2 and exists (select from w)),
    d as (
      update peer_accounts a set balance = balance - 1 from k
      where a.id = k.account_id and balance >= 1 and exists (select from s) returning a.id, balance),
    e as (insert into peer_entries (account_id, amount) select id, -1 from d)
    select (select body from s) as body, (select balance from d) as balance`,
}

const six = {
  key: { name: 'key', text: 'select id, account_id from peer_keys where digest = $1' },
  count: {
    name: 'count',
    text: `insert into peer_windows values ($1, date_trunc('minute', now()), 1)
      on conflict (key_id, minute) do update set calls = peer_windows.calls + 1 returning calls`,
  },
  score: { name: 'score', text: 'select body from peer_scores where id = $1' },
  debit: {
    name: 'debit',
    text: `with d as (
        update peer_accounts set balance = balance - 1 where id = $1 and balance >= 1
        returning id, balance),
      e as (insert into peer_entries (account_id, amount) select id, -1 from d)
      select balance from d`,
  },
}

async function readWithOne(pool: pg.Pool, digest: Buffer, id: string): Promise<Read | undefined> {
  const { rows } = await pool.query<Read>({ ...one, values: [digest, id] })
  return rows[0]
}

async function readWithSix(pool: pg.Pool, digest: Buffer, id: string): Promise<Read | undefined> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const key = (await client.query({ ...six.key, values: [digest] })).rows[0]
    const counted = (await client.query({ ...six.count, values: [key.id] })).rows[0]
    const score = (await client.query({ ...six.score, values: [id] })).rows[0]
    const debit = (await client.query({ ...six.debit, values: [key.account_id] })).rows[0]
    const isPaid = counted.calls <= perMinute && score !== undefined && debit !== undefined
    await client.query(isPaid ? 'commit' : 'rollback')
    return isPaid ? { body: score.body, balance: debit.balance } : undefined
  } finally {
    client.release()
  }
}

process.once('message', ({ kind, url }: CreditsPeerOrder) => {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  // The database ends before this process.
  pool.on('error', () => {})
  const read = kind === 'one statement' ? readWithOne : readWithSix
  const answer = async ({ headers, url: path = '' }: IncomingMessage, to: ServerResponse) => {
    const key = (headers.authorization ?? '').slice('Bearer '.length)
    const found = await read(pool, keyDigest(key), path.slice('/api/v1/scores/'.length))
    const isPaid = found?.body != null && found.balance !== null
    const body = isPaid ? (found.body ?? '') : '{}'
    to.writeHead(isPaid ? 200 : 402, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    })
    to.end(body)
  }
  // An error ends the process, and with it the benchmark.
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1', () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  )
})
process.once('disconnect', () => process.exit(0))
