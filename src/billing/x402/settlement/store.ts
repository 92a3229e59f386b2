/**
 * All SQL of x402_payments. A write that may be lost in a crash of the database does not wait for
 * the disk: its transaction sets `synchronous_commit`. `purchase.ts` says which writes may be lost
 * and how that is found out.
 */
import { fragment, type Queryable, sql, sqlState, type Tx } from '../../../platform/db/db.ts'

export const paymentStates = ['settling', 'unknown', 'settled', 'released', 'failed'] as const
export type PaymentState = (typeof paymentStates)[number]
export type FacilitatorName = 'remote' | 'local'

/** These four identify an authorization, which can be used once. Hex in lower case. */
export interface PaymentIdentity {
  chainId: number
  asset: string
  payer: string
  nonce: string
}

export interface NewPayment extends PaymentIdentity {
  id: string
  signatureHash: Buffer
  resourceKey: Buffer
  endpoint: string
  /** Atomic units. */
  amount: string
  payTo: string
  validBefore: Date
  idempotencyKey: string | null
  facilitator: FacilitatorName
  sealedPayment: Buffer
}

export interface PaymentRow {
  id: string
  state: PaymentState
  signatureHash: Buffer
  resourceKey: Buffer
  validBefore: Date
  leaseUntil: Date
  claimedAt: Date
  txHash: string | null
  settledAt: Date | null
  /**
   * Time at which the payment was found paid without a waiting caller; null again once its payer
   * returns.
   */
  foundAt: Date | null
  /** The transaction by which the operator gave the money back. */
  refundTxHash: string | null
  sealedPayment: Buffer | null
}

const paymentColumns = fragment`
  id, state, signature_hash as "signatureHash", resource_key as "resourceKey", valid_before as "validBefore",
  lease_until as "leaseUntil", claimed_at as "claimedAt", tx_hash as "txHash", settled_at as "settledAt", found_at as "foundAt",
  refund_tx_hash as "refundTxHash", sealed_payment as "sealedPayment"`

/** The exclusive right of one process to work on a payment. */
export interface Lease {
  now: Date
  leaseUntil: Date
}

export type Hold =
  | 'held'
  /** Another request has it, or it was used. */
  | 'taken'
  /** Another payment of the same purchase is held or has made it. */
  | 'duplicate'

/**
 * Holds the authorization. `held` means that the row is on disk: from then on the payment may reach
 * the chain. Otherwise nothing was changed.
 */
export async function holdPayment(
  db: Queryable,
  payment: NewPayment,
  { now, leaseUntil }: Lease,
): Promise<Hold> {
  try {
    const count = await db.run(sql`
      insert into x402_payments as p (id, chain_id, asset, payer, auth_nonce, signature_hash, resource_key, endpoint, amount,
        pay_to, valid_before, idempotency_key, facilitator, sealed_payment, state, lease_until, claimed_at, state_at)
      values (${payment.id}, ${payment.chainId}, ${payment.asset}, ${payment.payer}, ${payment.nonce},
        ${payment.signatureHash}, ${payment.resourceKey}, ${payment.endpoint}, ${payment.amount}, ${payment.payTo},
        ${payment.validBefore}, ${payment.idempotencyKey}, ${payment.facilitator}, ${payment.sealedPayment},
        'settling', ${leaseUntil}, ${now}, ${now})
      on conflict (chain_id, asset, payer, auth_nonce) do update set
        id = excluded.id, signature_hash = excluded.signature_hash, resource_key = excluded.resource_key,
        endpoint = excluded.endpoint, amount = excluded.amount, pay_to = excluded.pay_to,
        valid_before = excluded.valid_before, idempotency_key = excluded.idempotency_key,
        facilitator = excluded.facilitator, sealed_payment = excluded.sealed_payment, state = 'settling',
        lease_until = excluded.lease_until, claimed_at = excluded.claimed_at, state_at = excluded.state_at,
        tx_hash = null, error_reason = null
      where p.state in ('released', 'failed')`)
    return count === 1 ? 'held' : 'taken'
  } catch (error) {
    if (sqlState(error) === uniqueViolation) return 'duplicate'
    throw error
  }
}

const uniqueViolation = '23505'

export async function findPayment(
  db: Queryable,
  { chainId, asset, payer, nonce }: PaymentIdentity,
): Promise<PaymentRow | undefined> {
  const [row] = await db.rows<PaymentRow>(sql`
    select ${paymentColumns} from x402_payments
    where chain_id = ${chainId} and asset = ${asset} and payer = ${payer} and auth_nonce = ${nonce}`)
  return row
}

/** Returns the purchase that a payer has begun or made under this key on this chain. */
export async function findPurchase(
  db: Queryable,
  { chainId, payer }: Pick<PaymentIdentity, 'chainId' | 'payer'>,
  idempotencyKey: string,
): Promise<PaymentRow | undefined> {
  const [row] = await db.rows<PaymentRow>(sql`
    select ${paymentColumns} from x402_payments
    where chain_id = ${chainId} and payer = ${payer} and idempotency_key = ${idempotencyKey}
      and state in ('settling', 'unknown', 'settled')`)
  return row
}

/** Locks the row until the end of the transaction. */
export async function lockPayment(tx: Tx, id: string): Promise<PaymentRow | undefined> {
  const [row] = await tx.rows<PaymentRow>(sql`
    select ${paymentColumns} from x402_payments where id = ${id} for update`)
  return row
}

/**
 * Returns the id of another payment that this transaction made. Closings with one transaction take
 * turns.
 */
export async function findPaidBy(
  tx: Tx,
  { txHash, not }: { txHash: string; not: string },
): Promise<string | null> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${txHash}, 402))`)
  const [row] = await tx.rows<{ id: string }>(sql`
    select id from x402_payments
    where tx_hash = ${txHash} and state = 'settled' and id <> ${not} limit 1`)
  return row?.id ?? null
}

/** Ends the purchase, so that its key may name another. */
export async function freePurchaseKey(db: Queryable, id: string): Promise<void> {
  await db.run(sql`
    update x402_payments set idempotency_key = null where id = ${id} and state = 'settled'`)
}

/** Takes an open payment over once its lease has expired. Only one of several callers succeeds. */
export async function takeOver(
  db: Queryable,
  id: string,
  { now, leaseUntil }: Lease,
): Promise<boolean> {
  const count = await db.run(sql`
    update x402_payments set lease_until = ${leaseUntil}
    where id = ${id} and state in ('settling', 'unknown') and lease_until <= ${now}`)
  return count === 1
}

/** How a final state is written: `durably` waits for the disk. */
export interface Ending {
  now: Date
  durably: boolean
}

export interface Settled extends Ending {
  txHash: string
  /** No caller waits for the purchased answer. */
  isFound?: boolean
}

/**
 * Marks the payment as settled. This is a fact of the chain, so any process may write it at any
 * time.
 */
export async function markSettled(
  db: Queryable,
  id: string,
  { txHash, now, durably, isFound = false }: Settled,
): Promise<void> {
  await db.run(sql`
    update x402_payments
    set state = 'settled', tx_hash = ${txHash}, settled_at = ${now}, state_at = ${now}, sealed_payment = null, error_reason = null,
      found_at = case when ${isFound}::boolean then ${now}::timestamptz end
    where id = ${id} and state in ('settling', 'unknown')
    returning set_config('synchronous_commit', case when ${durably}::boolean then 'on' else 'off' end, true)`)
}

/** Marks that the payer returned and was served. */
export async function markServed(db: Queryable, id: string): Promise<void> {
  await db.run(
    sql`update x402_payments set found_at = null where id = ${id} and found_at is not null`,
  )
}

/** Marks that the operator gave the money back: nothing is owed to the payer any more. */
export async function markRefunded(
  tx: Tx,
  id: string,
  { txHash, now }: { txHash: string; now: Date },
): Promise<void> {
  await tx.run(sql`
    update x402_payments set refund_tx_hash = ${txHash}, refunded_at = ${now}, found_at = null
    where id = ${id} and state = 'settled'`)
}

/** Marks a payment that was sent with unknown outcome. The next request may take it over. */
export async function markUnknown(
  db: Queryable,
  id: string,
  { reason, now }: { reason: string | null; now: Date },
): Promise<void> {
  await db.run(sql`
    update x402_payments
    set state = 'unknown', lease_until = ${now}, error_reason = coalesce(${reason}, error_reason), state_at = ${now}
    where id = ${id} and state in ('settling', 'unknown')`)
}

/** Ends the lease of a payment and leaves its state as it was. */
export async function leaveOpen(db: Queryable, id: string, now: Date): Promise<void> {
  await db.run(sql`
    update x402_payments set lease_until = ${now} where id = ${id} and state in ('settling', 'unknown')`)
}

/** Releases a hold under which nothing was sent, unless another process has taken it over. */
export async function releasePayment(
  db: Queryable,
  id: string,
  { leaseUntil, reason, now, durably }: { leaseUntil: Date; reason: string | null } & Ending,
): Promise<void> {
  await db.run(sql`
    update x402_payments
    set state = 'released', error_reason = ${reason}, state_at = ${now}, sealed_payment = null
    where id = ${id} and lease_until = ${leaseUntil} and state = 'settling'
    returning set_config('synchronous_commit', case when ${durably}::boolean then 'on' else 'off' end, true)`)
}

/** Marks a payment that was sent, or should have been, and was certainly not made. */
export async function failPayment(
  db: Queryable,
  id: string,
  { reason, now }: { reason: string; now: Date },
): Promise<void> {
  await db.run(sql`
    update x402_payments
    set state = 'failed', error_reason = ${reason}, state_at = ${now}, sealed_payment = null
    where id = ${id} and state in ('settling', 'unknown')`)
}

/**
 * Stores the transaction of the facilitator in this process before it is final. The chain knows it
 * as well.
 */
export async function keepPendingTransaction(
  db: Queryable,
  signatureHash: Buffer,
  txHash: string,
): Promise<void> {
  await db.run(sql`
    update x402_payments set tx_hash = ${txHash}
    where signature_hash = ${signatureHash} and state in ('settling', 'unknown')
    returning set_config('synchronous_commit', 'off', true)`)
}

export async function findPendingTransaction(
  db: Queryable,
  signatureHash: Buffer,
): Promise<string | undefined> {
  const [row] = await db.rows<{ txHash: string }>(sql`
    select tx_hash as "txHash" from x402_payments
    where signature_hash = ${signatureHash} and state in ('settling', 'unknown') and tx_hash is not null`)
  return row?.txHash
}

/**
 * Returns open payments, oldest first. Several processes may find the same one; `takeOver` gives it
 * to one of them.
 */
export function findOpenPayments(
  db: Queryable,
  { chainId, leftBefore, limit }: { chainId: number; leftBefore: Date; limit: number },
): Promise<PaymentRow[]> {
  return db.rows<PaymentRow>(sql`
    select ${paymentColumns} from x402_payments
    where state in ('settling', 'unknown') and lease_until < ${leftBefore} and chain_id = ${chainId}
    order by lease_until limit ${limit}`)
}

/** Counts of payments that may have been made and are not settled, by their last state. */
export interface OpenCounts {
  settling: number
  unknown: number
}

export async function countOpenPayments(db: Queryable, chainId: number): Promise<OpenCounts> {
  const [row] = await db.rows<OpenCounts>(sql`
    select (count(*) filter (where state = 'settling'))::integer as settling,
      (count(*) filter (where state = 'unknown'))::integer as unknown
    from x402_payments where state in ('settling', 'unknown') and chain_id = ${chainId}`)
  return row ?? { settling: 0, unknown: 0 }
}

/**
 * Deletes payments that came to nothing: of a released one nothing was ever sent, and a failed one
 * cannot be sent any more.
 */
export function sweepPayments(db: Queryable, before: Date): Promise<number> {
  return db.run(sql`
    delete from x402_payments
    where state_at < ${before} and (state = 'released' or (state = 'failed' and valid_before < ${before}))`)
}

/**
 * Takes the relayer's lock among all processes until the end of the transaction. Returns false
 * without waiting if another process has it.
 */
export async function lockRelayer(tx: Tx, address: string): Promise<boolean> {
  const [row] = await tx.rows<{ isOurs: boolean }>(sql`
    select pg_try_advisory_xact_lock(hashtext('x402 relayer ' || ${address}::text)) as "isOurs"`)
  return row?.isOurs === true
}
