/** What the HTTP edge asks of whoever sells a paid read to callers without a key (spec §5 rule 1); `x402/answer.ts` answers. */
import type { MeterName } from './callers.ts'
import type { Answer } from './endpoint.ts'
import type { Refusal } from './errors.ts'

export interface PaidRequest {
  /** The credit meter of the endpoint; its price on the spot goes by the same name. */
  meter: MeterName
  /** Of the endpoint, with `{name}` for each path parameter. */
  pathTemplate: string
  /** In a few words for the payer: the endpoint's summary. */
  description: string
  /** As checked. */
  path: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Of the header, in its form; null where there is none. */
  idempotencyKey: string | null
  /** The work itself, for a payer whose address is proved. It may be asked more than once, and must change nothing. */
  read(payer: string): Promise<Answer>
  /** Whether somebody still waits for the answer, told once it can leave: of requests sent one behind the other, when those before have left. */
  isAwaited(): Promise<boolean>
  /** A payment may be on its way from now on: what is said where the answer fails or is too late. */
  onSent(failure: Refusal): void
  /** Whether nothing is known that forbids this payer, whose address is proved, another attempt. It is not counted. */
  mayTry(payer: string): boolean
  /** Counts an attempt, of the payer where it is proved, and of where it calls from; null, or why it is one too many. */
  limit(payer: string | null): Promise<Refusal | null>
}

export interface PaymentPort {
  /** A challenge, the paid answer with its receipt, or why not. Rejects as the work itself may. */
  answer(request: PaidRequest): Promise<Answer>
}
