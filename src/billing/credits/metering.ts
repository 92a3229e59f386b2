/**
 * Debits and refunds calls with an API key (decisions D19–D21).
 *
 * Tables: one statement writes `credit_accounts` and `credit_entries` together. `credit_purchases`
 * holds the purchases that callers name.
 *
 * Refunds: if the database does not answer in time, a call may have been charged without a 200.
 * Such calls are kept in memory and refunded repeatedly for one minute, because their statement may
 * still be under way. `close` waits for these statements.
 *
 * Crash: within that minute the calls stay charged, each with its entry.
 */
import type { Charge, MeteredCall, Metering } from '../../edge/http/admission.ts'
import type { PresentedKey } from '../../edge/http/callers.ts'
import { creditsChargedHeader, creditsRemainingHeader } from '../../edge/http/identifiers.ts'
import type { Clock } from '../../platform/clock.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import type { Db } from '../../platform/db/db.ts'
import { withDeadline } from '../../platform/deadlines.ts'
import { type Refusal, refuse, UnavailableError } from '../../platform/errors.ts'
import { type Debited, debitBatch, openDebits } from './debit.ts'
import type { Prices } from './meters.ts'
import { chargeReference } from './months.ts'
import {
  type Debit,
  findPurchase,
  insertPurchase,
  insertRefunds,
  lockCreditAccount,
} from './store.ts'

export interface CreditMeter extends Metering {
  /** Makes the open refunds. */
  writeRefunds(): Promise<void>
  /**
   * Waits for debits under way and makes the open refunds for the last time. No call may be charged
   * after it.
   */
  close(): Promise<void>
}

export interface CreditMeterOptions {
  db: Db
  prices: Prices
  clock: Clock
  /** Open refunds to keep. While there are this many, no call is charged. */
  pendingRefundsMax?: number
}

const purchaseMs = 86_400_000
/** Refunds of one statement, few enough to end before the statement timeout. */
const refundsPageSize = 1_000
/** Longer than a statement can be under way. */
const refundRepeatedMs = 60_000

export function openCreditMeter(options: CreditMeterOptions): CreditMeter {
  const { db, prices, clock, pendingRefundsMax = 100_000 } = options
  const debits = openDebits(db)
  /** Time until which each reference is refunded, in milliseconds since the epoch. */
  const pendingRefunds = new Map<string, number>()

  /**
   * Leaves out named purchases: the caller asks again under the same key and does not pay twice.
   */
  function refund(call: MeteredCall): void {
    if (call.purchase === null)
      pendingRefunds.set(referenceOf(call), clock().getTime() + refundRepeatedMs)
  }

  async function writeRefunds(): Promise<void> {
    if (pendingRefunds.size === 0) return
    const now = clock().getTime()
    const due = [...pendingRefunds]
    for (let from = 0; from < due.length; from += refundsPageSize) {
      const page = due.slice(from, from + refundsPageSize)
      await insertRefunds(
        db,
        page.map(([reference]) => reference),
      )
      for (const [reference, until] of page) if (until <= now) pendingRefunds.delete(reference)
    }
  }

  return {
    shortfall: ({ credits }, meter) => shortfallOf(credits, prices[meter]),

    async charge(call) {
      const amount = prices[call.meter]
      if (amount === 0) return { charged: 0 }
      if (pendingRefunds.size >= pendingRefundsMax)
        throw new UnavailableError('too many refunds are pending')
      const wanted = debitOf(call, amount)
      try {
        return call.purchase === null
          ? chargeOf(await debits.debit(wanted), amount)
          : await withDeadline(chargePurchase(db, { call, wanted }, clock()), 'databaseAnswer')
      } catch (error) {
        if (error instanceof UnavailableError) refund(call)
        throw error
      }
    },

    refund,

    writeRefunds,

    async close() {
      await debits.ended()
      await writeRefunds()
    },
  }
}

function shortfallOf(
  { balance, suspended }: PresentedKey['credits'],
  price: number,
): Refusal | null {
  if (price === 0) return null
  if (suspended) return refuse('metering_suspended')
  return balance < price ? tooFewCredits(price, balance) : null
}

function tooFewCredits(price: number, remaining: number): Refusal {
  return refuse('insufficient_credits', {
    message: `This call costs ${inCredits(price)}, and the account of this API key has ${inCredits(remaining)}.`,
    headers: { [creditsChargedHeader]: '0', [creditsRemainingHeader]: `${remaining}` },
    cause: { price, balance: remaining },
  })
}

function inCredits(count: number): string {
  return count === 1 ? '1 credit' : `${count} credits`
}

function debitOf(call: MeteredCall, amount: number): Debit {
  const { accountId, keyId } = call.caller
  const { meter, operationId: operation } = call
  return { accountId, keyId, amount, reference: referenceOf(call), meter, operation }
}

function referenceOf({ begunAt, requestId }: MeteredCall): string {
  return chargeReference(begunAt, requestId)
}

function chargeOf(debited: Debited | undefined, amount: number): Charge | Refusal {
  if (debited === undefined) throw new Error('a charge has no outcome')
  if (debited.kind === 'failed') throw debited.error
  if (debited.kind === 'suspended') return refuse('metering_suspended')
  if (debited.kind === 'short') return tooFewCredits(amount, debited.remaining)
  return { charged: amount, remaining: debited.remaining }
}

/**
 * Holds the account's lock, so that of two requests with one purchase key one is charged and the
 * other finds the purchase.
 */
function chargePurchase(
  db: Db,
  { call, wanted }: { call: MeteredCall; wanted: Debit },
  now: Date,
): Promise<Charge | Refusal> {
  const { purchase } = call
  if (purchase === null) throw new Error('a purchase has a key')
  return db.transaction(async (tx) => {
    const { accountId } = wanted
    const account = await lockCreditAccount(tx, accountId)
    if (account === undefined) return tooFewCredits(wanted.amount, 0)
    if (account.suspendedAt !== null) return refuse('metering_suspended')
    const made = {
      accountId,
      keySha256: sha256(purchase.idempotencyKey),
      fingerprint: Buffer.from(purchase.fingerprint, 'hex'),
    }
    const before = await findPurchase(tx, made, purchasesEnd(now))
    if (before !== undefined)
      return before.fingerprint.equals(made.fingerprint)
        ? { charged: 0, remaining: account.balance }
        : refuse('purchase_key_reused')
    const charge = chargeOf((await debitBatch(tx, [wanted]))[0], wanted.amount)
    if (!('refusal' in charge)) await insertPurchase(tx, made, now)
    return charge
  })
}

/** Returns the time before which purchases no longer count: one day ago. */
export function purchasesEnd(now: Date): Date {
  return new Date(now.getTime() - purchaseMs)
}
