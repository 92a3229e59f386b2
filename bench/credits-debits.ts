/**
 * Measures debits a second for 256 callers: batched as the service does it; one by one; and the
 * bare statement without the ledger's checks, over 10 connections and, if pgbench is installed, by
 * pgbench over 64.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { debitBatch, openDebits } from '../src/billing/credits/debit.ts'
import { type Db, sql } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import type { Account } from './credits-setup.ts'
import { median, report } from './measure.ts'

export interface DebitsOrder {
  name: string
  accounts: readonly Account[]
  url: string
  /** A file for pgbench to read; may be overwritten. */
  scriptFile: string
  seconds: number
  rounds: number
}

export async function debitsOf(db: Db, order: DebitsOrder): Promise<void> {
  const { name, accounts, rounds } = order
  const account = (i: number): Account => accounts[i % accounts.length] as Account
  const debitOf = ({ id: accountId, keyIds: [keyId = ''] }: Account) => ({
    accountId,
    keyId,
    amount: 1,
    reference: uuidV7(new Date()),
    meter: 'score_lookup',
    operation: 'bench',
  })
  const { debit: grouped } = openDebits(db)
  const rateOf = (call: (i: number) => Promise<unknown>) => callsASecond(order.seconds, call)
  const contestants = {
    grouped: () => rateOf((i) => grouped(debitOf(account(i)))),
    'one by one': () => rateOf((i) => debitBatch(db, [debitOf(account(i))])),
    'bare statement': () => rateOf((i) => bareDebit(db, account(i))),
    'pgbench, bare statement': await byPgbench(db, order),
  }
  const all = new Map<string, number[]>()
  for (let round = 0; round <= rounds; round++)
    for (const [one, rate] of Object.entries(contestants)) {
      const measured = rate === null ? Number.NaN : await rate()
      if (round > 0) all.set(one, [...(all.get(one) ?? []), measured])
    }
  const rates = (one: string): number[] => all.get(one) ?? []
  const ratio = (slow: string): number =>
    median(rates('grouped').map((rate, round) => rate / (rates(slow)[round] ?? Number.NaN)))
  const least = accounts.length === 1 ? 20 : 4
  report(`debits of 256 callers, ${name}`, [
    ...[...all.keys()].map((one) => ({ name: one, value: median(rates(one)), unit: '/s' })),
    {
      name: 'grouped / one by one',
      value: ratio('one by one'),
      unit: '×',
      target: { min: least },
    },
    { name: 'grouped / bare statement', value: ratio('bare statement'), unit: '×' },
    { name: 'grouped / pgbench', value: ratio('pgbench, bare statement'), unit: '×' },
  ])
}

/** Returns the calls a second of 256 callers, who each wait for their answer. */
async function callsASecond(
  seconds: number,
  call: (i: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now()
  let calls = 0
  const caller = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1_000) await call(calls++)
  }
  await Promise.all(Array.from({ length: 256 }, caller))
  return (calls * 1_000) / (performance.now() - startedAt)
}

/** Balance and entry in one statement. */
function bareDebit(db: Db, account: Account): Promise<number> {
  return db.run(sql`
    with debited as (
      update credit_accounts set balance = balance - 1
      where account_id = ${account.id} and balance >= 1 returning account_id
    )
    insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation)
    select account_id, 'charge', -1, ${uuidV7(new Date())}, ${account.keyIds[0]}, 'score_lookup', 'bench'
    from debited`)
}

const script = (accounts: number): string => `\\set i random(0, ${accounts - 1})
with debited as (
  update credit_accounts set balance = balance - 1
  where account_id = (select id from bench_accounts where i = :i) and balance >= 1 returning account_id
)
insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation)
select d.account_id, 'charge', -1, gen_random_uuid()::text, b.key_id, 'score_lookup', 'bench'
from debited d, bench_accounts b where b.i = :i;
`

/** Returns null if pgbench is not installed. */
async function byPgbench(
  db: Db,
  { accounts, url, scriptFile, seconds }: DebitsOrder,
): Promise<(() => number) | null> {
  if (spawnSync('pgbench', ['--version']).error !== undefined) return null
  const ids = accounts.map(({ id }) => id)
  const keyIds = accounts.map(({ keyIds: [keyId] }) => keyId)
  await db.run(
    sql`create table if not exists bench_accounts (i integer primary key, id uuid, key_id uuid)`,
  )
  await db.run(sql`delete from bench_accounts`)
  await db.run(sql`
    insert into bench_accounts select place - 1, id, key_id
    from unnest(${ids}::uuid[], ${keyIds}::uuid[]) with ordinality as a(id, key_id, place)`)
  writeFileSync(scriptFile, script(accounts.length))
  const options = ['-n', '-M', 'prepared', '-c', '64', '-j', '2', '-T', `${seconds}`]
  return () => {
    const { stdout, stderr } = spawnSync('pgbench', [...options, '-f', scriptFile, url])
    const [, rate] = /^tps = ([\d.]+)/m.exec(stdout.toString()) ?? []
    if (rate === undefined) throw new Error(`pgbench: ${stderr.toString()}`)
    return Number(rate)
  }
}
