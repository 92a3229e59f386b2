/** A client of the service: web APIs alone, so it runs in Node, browsers and workers. */
import {
  type Call,
  type CallOptions,
  type ClientOptions,
  callOf,
  type Json,
} from './client-types.ts'
import { type FeedEvent, type FeedQuery, type ListenOptions, listen } from './listen.ts'
import { type Question, Transport } from './transport.ts'
import type * as wire from './wire.ts'

export type ProofForm = 'native' | 'eddsa-jcs-2022' | 'eddsa-rdfc-2022'

export class Client {
  readonly candidates: Candidates
  readonly scores: Scores
  readonly skills: Skills
  readonly issuer: Issuer
  readonly webhooks: Webhooks
  readonly agentDecisions: AgentDecisions
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
    const call = <Value>(question: Question): Call<Value> =>
      callOf(this.#transport.send<Value>(question))
    this.candidates = new Candidates(call)
    this.scores = new Scores(call)
    this.skills = new Skills(call)
    this.issuer = new Issuer(call)
    this.webhooks = new Webhooks(call)
    this.agentDecisions = new AgentDecisions(call)
  }

  /**
   * Returns the service's verdict on a credential. A text is sent as it is, so the service also
   * sees whether it is ambiguous. Free, unless `withKey` asks for the higher limit of the key.
   */
  verify(
    credential: Json | string,
    { withKey = false, ...options }: CallOptions & { withKey?: boolean } = {},
  ): Call<wire.VerifyScoreCredentialResult> {
    return callOf(
      this.#transport.send({
        method: 'POST',
        path: '/api/v1/score-vc/verify',
        ...(typeof credential === 'string' ? { text: credential } : { body: credential }),
        isOnce: withKey,
        isAnonymous: !withKey,
        ...options,
      }),
    )
  }
}

/**
 * Returns a text as one segment of a path. Refuses texts that would name another path: an empty one
 * is the list above it, and URL parsers remove `.` and `..`.
 */
function segment(text: string, name: string): string {
  if (typeof text === 'string' && !/^\.{0,2}$/.test(text)) return encodeURIComponent(text)
  throw new TypeError(`${name} is ${JSON.stringify(text)}. Give the name or the id to read.`)
}

type Send = <Value>(question: Question) => Call<Value>

export interface SearchQuery {
  q: string
  limit?: number | undefined
  /** From the Link header of the page before. */
  after?: string | undefined
}

class Candidates {
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
  }

  /** Returns one page, the first unless `after` is given. */
  search(query: SearchQuery, options: CallOptions = {}): Call<wire.CandidateSearchResult> {
    return this.#send({
      path: '/api/v1/candidates/search',
      query: { ...query },
      isOnce: true,
      ...options,
    })
  }

  /** Yields page after page. Each is charged as a search, so stop when you have enough. */
  async *searchPages(
    query: SearchQuery,
    options: Omit<CallOptions, 'idempotencyKey'> = {},
  ): AsyncGenerator<wire.CandidateSearchResult, void, undefined> {
    for (let { after } = query; ; ) {
      const { data, headers } = await this.search({ ...query, after }, options).withResponse()
      yield data
      const next = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
      if (next === undefined) return
      after = new URL(next, 'http://any').searchParams.get('after') ?? undefined
    }
  }

  get(username: string, options: CallOptions = {}): Call<wire.CandidateDetail> {
    return this.#send({ path: candidatePath(username), isOnce: true, ...options })
  }

  /** Returns the signed credential of the candidate's public score. */
  credential(
    username: string,
    { proof, ...options }: CallOptions & { proof?: ProofForm | undefined } = {},
  ): Call<wire.ScoreCredential> {
    const path = `${candidatePath(username)}/credential`
    return this.#send({ path, query: { proof }, isOnce: true, ...options })
  }
}

function candidatePath(username: string): string {
  return `/api/v1/candidates/${segment(username.replace(/^@/, ''), 'username')}`
}

class Scores {
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
  }

  get(scoreId: string, options: CallOptions = {}): Call<wire.PublicScore> {
    return this.#send({ path: scorePath(scoreId), isOnce: true, ...options })
  }

  credential(
    scoreId: string,
    { proof, ...options }: CallOptions & { proof?: ProofForm | undefined } = {},
  ): Call<wire.ScoreCredential> {
    const path = `${scorePath(scoreId)}/credential`
    return this.#send({ path, query: { proof }, isOnce: true, ...options })
  }
}

function scorePath(scoreId: string): string {
  return `/api/v1/scores/${segment(scoreId, 'scoreId')}`
}

class Skills {
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
  }

  list(options: CallOptions = {}): Call<wire.SkillCatalog> {
    return this.#send({ path: '/standard/v1/skills', isAnonymous: true, ...options })
  }

  /** `id` is a slug such as `typescript`, or an id such as `hss:typescript`. */
  get(id: string, options: CallOptions = {}): Call<wire.Skill> {
    const path = `/standard/v1/skills/${segment(id, 'id')}`
    return this.#send({ path, isAnonymous: true, ...options })
  }

  /** Returns the sources of a skill, and what was decided about it. */
  notes(id: string, options: CallOptions = {}): Call<wire.SkillNotes> {
    const path = `/standard/v1/skills/${segment(id, 'id')}/notes`
    return this.#send({ path, isAnonymous: true, ...options })
  }
}

/** The documents of the issuer for verifiers, which need no key. */
class Issuer {
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
  }

  /** Returns the key that signs now, for `verifyCredential`. */
  keyDocument(options: CallOptions = {}): Call<Json> {
    const path = '/.well-known/service-score-vc-public-key.json'
    return this.#send({ path, isAnonymous: true, ...options })
  }

  /** Returns all keys, revoked ones too, for `verifyCredential`. */
  didDocument(options: CallOptions = {}): Call<Json> {
    return this.#send({ path: '/.well-known/did.json', isAnonymous: true, ...options })
  }

  /** `listId` ends the `credentialStatus.statusListCredential` of a credential. */
  statusList(
    listId: string,
    { proof = 'eddsa-jcs-2022', ...options }: CallOptions & { proof?: ProofForm | undefined } = {},
  ): Call<wire.StatusListCredential> {
    const path = `/standard/v1/status-lists/score-vc-revocation/${segment(listId, 'listId')}`
    return this.#send({ path, query: { proof }, isAnonymous: true, ...options })
  }
}

class Webhooks {
  readonly endpoints: WebhookEndpoints
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
    this.endpoints = new WebhookEndpoints(send)
  }

  /** Returns one page of the event feed. */
  events(query: FeedQuery = {}, options: CallOptions = {}): Call<wire.WebhookEventFeed> {
    const { types, since, ...rest } = query
    return this.#send({
      path: '/api/v1/webhooks/events',
      query: { ...rest, since: since?.toISOString(), types: types?.join(',') },
      ...options,
    })
  }

  /** Follows the event feed without an endpoint: `for await (const { event, next } of …)`. */
  listen(options: ListenOptions = {}): AsyncGenerator<FeedEvent, void, undefined> {
    return listen((query, call) => this.events(query, call), options)
  }
}

class WebhookEndpoints {
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
  }

  create(
    body: wire.WebhookEndpointRequest,
    options: CallOptions = {},
  ): Call<wire.WebhookEndpointCreated> {
    const path = '/api/v1/webhooks/endpoints'
    return this.#send({ method: 'POST', path, body, isOnce: true, ...options })
  }

  list(options: CallOptions = {}): Call<wire.WebhookEndpointList> {
    return this.#send({ path: '/api/v1/webhooks/endpoints', ...options })
  }

  disable(endpointId: string, options: CallOptions = {}): Call<wire.WebhookEndpointChanged> {
    const path = `/api/v1/webhooks/endpoints/${segment(endpointId, 'endpointId')}`
    return this.#send({ method: 'DELETE', path, ...options })
  }
}

class AgentDecisions {
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
  }

  /** Give an `idempotencyKey` of your own if the report may be repeated after a crash. */
  report(
    body: wire.ReportAgentDecisionRequest,
    options: CallOptions = {},
  ): Call<wire.AgentDecisionReportCreated> {
    const path = '/api/v1/agent-decisions'
    return this.#send({ method: 'POST', path, body, isOnce: true, ...options })
  }
}
