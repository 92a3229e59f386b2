/** SQL of reports on x402_payments for operators. It only reads. */
import { fragment, type Queryable, sql } from '../../../platform/db/db.ts'
import type { NewPayment, PaymentRow, PaymentState } from './store.ts'

export interface ListedPayment
  extends Pick<NewPayment, 'id' | 'endpoint' | 'chainId' | 'amount' | 'payer' | 'payTo' | 'nonce'>,
    Pick<
      PaymentRow,
      'state' | 'validBefore' | 'txHash' | 'claimedAt' | 'foundAt' | 'refundTxHash'
    > {
  reason: string | null
  stateAt: Date
}

/** The last row of the page before, in the order of the list. */
export interface PageEnd {
  at: Date
  id: string
}

interface Page {
  after: PageEnd | null
  limit: number
}

const listedColumns = fragment`
  id, state, endpoint, chain_id as "chainId", amount::text as amount, payer, pay_to as "payTo", auth_nonce as nonce,
  valid_before as "validBefore", tx_hash as "txHash", error_reason as reason, claimed_at as "claimedAt", state_at as "stateAt",
  found_at as "foundAt", refund_tx_hash as "refundTxHash"`

export interface PaymentFilter extends Page {
  state: PaymentState | null
  /** An address in lower case. */
  payer: string | null
  since: Date | null
}

/** Returns payments, newest first. */
export function listPayments(
  db: Queryable,
  { state, payer, since, after, limit }: PaymentFilter,
): Promise<ListedPayment[]> {
  return db.rows<ListedPayment>(sql`
    select ${listedColumns} from x402_payments
    where (${state}::text is null or state = ${state}::text) and (${payer}::text is null or payer = ${payer}::text)
      and (${since}::timestamptz is null or state_at >= ${since}::timestamptz)
      and (${after?.at ?? null}::timestamptz is null
        or (state_at, id) < (${after?.at ?? null}::timestamptz, ${after?.id ?? null}::uuid))
    order by state_at desc, id desc limit ${limit}`)
}

/** Returns payments that may have been made and are not settled in the ledger, oldest first. */
export function listUnresolved(
  db: Queryable,
  { openSince, after, limit }: { openSince: Date } & Page,
): Promise<ListedPayment[]> {
  return db.rows<ListedPayment>(sql`
    select ${listedColumns} from x402_payments
    where state in ('settling', 'unknown') and claimed_at < ${openSince}
      and (${after?.at ?? null}::timestamptz is null
        or (claimed_at, id) > (${after?.at ?? null}::timestamptz, ${after?.id ?? null}::uuid))
    order by claimed_at, id limit ${limit}`)
}

/**
 * Returns payments that were found paid without a waiting caller and not requested again since:
 * perhaps never delivered. Newest first.
 */
export function listUndelivered(db: Queryable, { after, limit }: Page): Promise<ListedPayment[]> {
  return db.rows<ListedPayment>(sql`
    select ${listedColumns} from x402_payments where found_at is not null
      and (${after?.at ?? null}::timestamptz is null
        or (found_at, id) < (${after?.at ?? null}::timestamptz, ${after?.id ?? null}::uuid))
    order by found_at desc, id desc limit ${limit}`)
}

export interface StateSum {
  state: PaymentState
  chainId: number
  payments: number
  /** Atomic units. */
  amount: string
  /** First and last time at which one of them came into this state. */
  oldest: Date
  newest: Date
}

/** Returns a row for every state that has payments. */
export function sumByState(db: Queryable): Promise<StateSum[]> {
  return db.rows<StateSum>(sql`
    select state, chain_id as "chainId", count(*) as payments, sum(amount)::text as amount,
      min(state_at) as oldest, max(state_at) as newest
    from x402_payments group by 1, 2 order by 2, 1`)
}

export interface Revenue {
  /** UTC, `YYYY-MM-DD`. */
  day: string
  endpoint: string
  chainId: number
  payments: number
  /** Atomic units. */
  amount: string
  /** The part of it that was given back. */
  refunded: string
}

/** Returns settled payments by the day of their settlement, newest day first. */
export function revenueByDay(db: Queryable, since: Date): Promise<Revenue[]> {
  return db.rows<Revenue>(sql`
    select to_char(settled_at, 'YYYY-MM-DD') as day, endpoint, chain_id as "chainId",
      count(*) as payments, sum(amount)::text as amount,
      coalesce(sum(amount) filter (where refunded_at is not null), 0)::text as refunded
    from x402_payments where state = 'settled' and settled_at >= ${since}
    group by 1, 2, 3 order by 1 desc, 2, 3`)
}
