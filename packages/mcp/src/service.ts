/** The service behind the tools: free calls without the key, paid calls within the budget. */
import type { Answer } from '../../sdk/src/client-types.ts'
import type { Client } from '../../sdk/src/index.ts'
import type { Budget } from './budget.ts'

export type Meter = 'candidate_search' | 'candidate_lookup' | 'score_lookup'

/** A call of the SDK. */
interface Call<Value> {
  withResponse(): Promise<Answer<Value>>
}

export interface Keyed {
  client: Client
  budget: Budget
}

class KeyNeeded extends Error {
  constructor() {
    super(
      'This tool needs an API key of the service. The person who runs this server gives it one, as ASSAY_API_KEY or, over HTTP, as Authorization: Bearer KEY. A test key (svc_test_…) reads fictional candidates and costs nothing. Skills and verification need no key.',
    )
    this.name = 'KeyNeeded'
  }
}

export class Service {
  readonly open: Client
  readonly #keyed: Keyed | undefined

  constructor(open: Client, keyed: Keyed | undefined) {
    this.open = open
    this.#keyed = keyed
  }

  get budget(): Budget | undefined {
    return this.#keyed?.budget
  }

  /** A call with the key that costs nothing. */
  get client(): Client {
    return this.#needKey().client
  }

  async paid<Value>(meter: Meter, call: (client: Client) => Call<Value>): Promise<Answer<Value>> {
    const { client, budget } = this.#needKey()
    const { value } = await budget.pay(meter, async () => {
      const answer = await call(client).withResponse()
      const { creditsCharged, creditsRemaining } = answer
      return { value: answer, credits: creditsCharged ?? 0, accountCredits: creditsRemaining }
    })
    return value
  }

  #needKey(): Keyed {
    if (this.#keyed === undefined) throw new KeyNeeded()
    return this.#keyed
  }
}
