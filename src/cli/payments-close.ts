/** `assay payments close`: says what became of a payment that was left open. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { type Closing, closePayment, type Finding } from '../x402/settlement/close.ts'
import { withDatabase } from './context.ts'
import { failure, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { uuidForm } from './uuid-form.ts'

export interface CloseFlags {
  paid?: string
  notPaid?: boolean
}

export function closePaymentCommand(
  config: Config,
  named: string,
  flags: CloseFlags,
): Promise<Outcome> {
  const finding = findingOf(named, flags)
  const { id, txHash: transaction } = finding
  return withDatabase(config, async (db) => {
    const closing = await db.transaction(async (tx) => {
      const now = systemClock()
      const closing = await closePayment(tx, finding, now)
      if (closing.outcome !== 'closed') return closing
      const details = { paid: transaction !== null }
      const entry = {
        actor: operator(),
        action: 'payments.closed',
        subjects: [id],
        details,
      } as const
      await recordAction(tx, entry, now)
      return closing
    })
    if (closing.outcome !== 'closed') throw failure(whyNot(closing))
    const line = transaction === null ? 'it was not paid' : `it was paid by ${transaction}`
    return done({ ok: true, payment: id, transaction }, [`${id}: ${line}`])
  })
}

function findingOf(named: string, { paid, notPaid }: CloseFlags): Finding {
  if (!uuidForm.test(named))
    throw usageError('A payment is named by its id: see `assay payments attention`.')
  if ((paid === undefined) !== (notPaid === true))
    throw usageError('Say either --paid and the transaction, or --not-paid.')
  if (paid !== undefined && !/^0x[0-9a-fA-F]{64}$/.test(paid))
    throw usageError('--paid takes a transaction: 0x and 64 hex characters.')
  return { id: named.toLowerCase(), txHash: paid?.toLowerCase() ?? null }
}

function whyNot(closing: Exclude<Closing, { outcome: 'closed' }>): string {
  if (closing.outcome === 'not found') return 'There is no such payment.'
  if (closing.outcome === 'ended') return `It is ${closing.state}, not open. Nothing has changed.`
  const until = wireTime(closing.until)
  return closing.outcome === 'in work'
    ? `Somebody works on it: try again after ${until}. Nothing has changed.`
    : `It can still be paid until ${until}. Nothing has changed.`
}
