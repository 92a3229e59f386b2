/**
 * Limits the credits that tools may spend. A paid call reserves its price before it starts, so
 * parallel calls cannot exceed the limit together. The price of a meter is learned from its last
 * charge, and is one credit before.
 */
export class Budget {
  readonly maxCredits: number
  private spentCredits = 0
  private reservedCredits = 0
  private readonly prices = new Map<string, number>()
  /** Credits that the account still had after the last paid call, or null before one. */
  accountCredits: number | null = null

  constructor(maxCredits: number) {
    this.maxCredits = maxCredits
  }

  get spent(): number {
    return this.spentCredits
  }

  get left(): number {
    return Math.max(0, this.maxCredits - this.spentCredits - this.reservedCredits)
  }

  /** Runs a paid call within the limit. Throws `BudgetSpent`, and then nothing was sent. */
  async pay<Value>(meter: string, call: () => Promise<Charged<Value>>): Promise<Charged<Value>> {
    const price = this.prices.get(meter) ?? 1
    if (price > this.left) throw new BudgetSpent(this, price)
    this.reservedCredits += price
    try {
      const charged = await call()
      this.spentCredits += charged.credits
      this.accountCredits = charged.accountCredits ?? this.accountCredits
      this.prices.set(meter, charged.credits)
      return charged
    } catch (error) {
      // Without an answer the service may have charged; an answer that is an error is free.
      if (!isAnswer(error)) this.spentCredits += price
      throw error
    } finally {
      this.reservedCredits -= price
    }
  }
}

function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'status' in error && typeof error.status === 'number'
}

export interface Charged<Value> {
  value: Value
  /** Credits that this call cost. */
  credits: number
  /** Credits that the account has left, if the service says so. */
  accountCredits: number | null
}

class BudgetSpent extends Error {
  constructor({ maxCredits, spent }: Budget, price: number) {
    super(
      `The budget is spent: ${spent} of ${maxCredits} credits are used, and this call costs ${price}. Nothing was sent. The person who runs this server can raise the limit with --max-credits.`,
    )
    this.name = 'BudgetSpent'
  }
}

/**
 * One budget for each API key: a client over HTTP may open a session for each call, so a budget of
 * the session would start anew each time. Bounded, because anybody can send keys: a budget of which
 * nothing is spent makes room, and if none does, a new key is refused.
 */
export class Budgets {
  private readonly budgets = new Map<string, Budget>()
  private readonly maxCredits: number
  private readonly maxKeys: number

  constructor(maxCredits: number, maxKeys = 10_000) {
    this.maxCredits = maxCredits
    this.maxKeys = maxKeys
  }

  /** Returns undefined if no further key fits. */
  of(key: string): Budget | undefined {
    const known = this.budgets.get(key)
    if (known !== undefined) return known
    if (this.budgets.size >= this.maxKeys && !this.makeRoom()) return undefined
    const budget = new Budget(this.maxCredits)
    this.budgets.set(key, budget)
    return budget
  }

  private makeRoom(): boolean {
    for (const [key, budget] of this.budgets)
      if (budget.left === budget.maxCredits) return this.budgets.delete(key)
    return false
  }
}
