/** The client against the real service, directly and behind a proxy that fails. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { type PaymentRequired, x402Client, x402HTTPClient } from '@x402/fetch'
import { Webhook } from 'standardwebhooks'
import { privateKeyToAccount } from 'viem/accounts'
import { attemptHeaders } from '../../../src/webhooks/delivery/attempt-request.ts'
import { newKey } from '../../../test/support/build/keys.ts'
import { type Fault, startFaultyProxy } from '../../../test/support/fault/faulty-proxy.ts'
import { startService } from '../../../test/support/start/service.ts'
import {
  AnswerError,
  AuthenticationError,
  Client,
  type ClientOptions,
  ConflictError,
  ConnectionError,
  InsufficientCreditsError,
  InvalidRequestError,
  NotFoundError,
  newWebhookSecret,
  type Payer,
  PaymentRefusedError,
  PaymentRequiredError,
  PermissionError,
  RateLimitError,
  signTestWebhook,
  TimeoutError,
  UnavailableError,
  verifyWebhook,
} from './index.ts'

const service = await startService('https://scores.example.org')
after(() => service.stop())
const { db } = service.database
const testKey = await newKey(db, {
  environment: 'test',
  scopes: ['candidates:read', 'scores:read'],
})
const sandbox = new Client({ baseUrl: service.base, apiKey: testKey.key, sandbox: true })

test('searchPages yields every match once, a page at a time', async () => {
  const { candidates: all } = await sandbox.candidates.search({ q: 'python', limit: 50 })
  const pages: number[] = []
  const usernames: string[] = []
  for await (const { candidates } of sandbox.candidates.searchPages({ q: 'python', limit: 2 })) {
    pages.push(candidates.length)
    usernames.push(...candidates.map(({ username }) => username))
  }
  assert.deepEqual(
    usernames,
    all.map(({ username }) => username),
  )
  assert.ok(pages.length > 1 && pages.slice(0, -1).every((length) => length === 2), String(pages))
})

test('one test key leads from a search to a verified credential', async () => {
  const { candidates } = await sandbox.candidates.search({ q: 'typescript' })
  const [first] = candidates
  assert.ok(first !== undefined)
  const candidate = await sandbox.candidates.get(`@${first.username}`)
  assert.equal(candidate.username, first.username)
  const credential = await sandbox.candidates.credential(first.username)
  const verdict = await sandbox.verify(credential)
  // The issuer of the sandbox is nobody's, so that no verifier takes it for real.
  assert.deepEqual([verdict.valid, verdict.reason], [false, 'issuer_mismatch'])
})

test('the skill standard is read without a key', async () => {
  const open = new Client({ baseUrl: `${service.base}/` })
  const { skills } = await open.skills.list()
  assert.ok(skills.length >= 100, `${skills.length} skills`)
  assert.equal((await open.skills.get('hss:typescript'))['@type'], 'Skill')
  await assert.rejects(open.skills.get('no-such-skill'), NotFoundError)
})

const methods: Record<string, (client: Client) => unknown> = {
  searchCandidates: ({ candidates }) => candidates.search,
  getCandidate: ({ candidates }) => candidates.get,
  getCandidateCredential: ({ candidates }) => candidates.credential,
  getScore: ({ scores }) => scores.get,
  getScoreCredential: ({ scores }) => scores.credential,
  verifyScoreCredential: ({ verify }) => verify,
  reportAgentDecision: ({ agentDecisions }) => agentDecisions.report,
  createWebhookEndpoint: ({ webhooks }) => webhooks.endpoints.create,
  listWebhookEndpoints: ({ webhooks }) => webhooks.endpoints.list,
  disableWebhookEndpoint: ({ webhooks }) => webhooks.endpoints.disable,
  listWebhookEvents: ({ webhooks }) => webhooks.events,
}

test('each operation that takes an API key has a method', () => {
  const { paths } = JSON.parse(readFileSync('openapi/2026-05-14.json', 'utf8'))
  const operations: { operationId: string; security?: object[] }[] = Object.values(
    paths as Record<string, object>,
  ).flatMap((path) => Object.values(path))
  const keyed = operations.filter(({ security = [] }) => security.some((way) => 'apiKey' in way))
  assert.deepEqual(keyed.map(({ operationId }) => operationId).sort(), Object.keys(methods).sort())
  for (const [operation, methodOf] of Object.entries(methods))
    assert.equal(typeof methodOf(sandbox), 'function', operation)
})

test('withResponse gives credits, limits and the request id', async () => {
  const { key } = await newKey(db, { scopes: ['candidates:read'], credits: 10 })
  const client = new Client({ baseUrl: service.base, apiKey: key })
  const answer = await client.candidates.search({ q: 'nobody-has-this' }).withResponse()
  assert.deepEqual([answer.creditsCharged, answer.creditsRemaining], [1, 9])
  assert.match(answer.requestId ?? '', /./)
  assert.ok(answer.rateLimits.every(({ remaining }) => remaining > 0))
  assert.equal(answer.rateLimits.length, 2)
})

test('each family of errors has its class, with the page that explains it', async () => {
  const poor = await newKey(db, { scopes: ['candidates:read'] })
  const as = (apiKey: string): Client => new Client({ baseUrl: service.base, apiKey })
  const unknown = as(`svc_live_${'a'.repeat(43)}`)
  for (const [call, Family, error] of [
    [() => unknown.candidates.search({ q: 'ada' }), AuthenticationError, 'invalid_api_key'],
    [
      () => as(poor.key).candidates.search({ q: 'ada' }),
      InsufficientCreditsError,
      'insufficient_credits',
    ],
    [
      () => new Client({ baseUrl: service.base }).candidates.search({ q: 'ada' }),
      PaymentRequiredError,
      'payment_required',
    ],
    [() => as(poor.key).webhooks.events(), PermissionError, 'insufficient_scope'],
    [() => sandbox.candidates.search({ q: 'x' }), InvalidRequestError, 'invalid_parameter'],
    [() => sandbox.candidates.get('no-such-name'), NotFoundError, 'candidate_not_found'],
  ] as const) {
    const fault = await call()
      .withResponse()
      .then(
        () => undefined,
        (found: unknown) => found,
      )
    assert.ok(fault instanceof Family, `${error}: ${inspect(fault)}`)
    assert.equal(fault.error, error)
    assert.match(fault.docsUrl ?? '', new RegExp(`/docs/errors/${error}$`))
    assert.match(fault.requestId ?? '', /./)
    if (fault instanceof PaymentRequiredError) assert.equal(fault.challenge, null)
  }
})

test('an idempotency key of the caller names the call, and other content under it is a conflict', async () => {
  const { key } = await newKey(db, { scopes: ['agent-decisions:write'] })
  const client = new Client({ baseUrl: service.base, apiKey: key })
  const idempotencyKey = 'report-of-yesterday-1'
  const subject = { kind: 'candidate', username: 'ada-lovelace' } as const
  const report = { subject, decision: 'shortlisted' } as const
  const first = await client.agentDecisions.report(report, { idempotencyKey })
  const second = await client.agentDecisions.report(report, { idempotencyKey })
  assert.deepEqual([first.replayed, second.replayed], [false, true])
  assert.equal(second.report.id, first.report.id)
  await assert.rejects(
    client.agentDecisions
      .report({ subject, decision: 'rejected' }, { idempotencyKey })
      .withResponse(),
    ConflictError,
  )
})

/** For a server that answers: a loaded machine takes longer than 300 ms. */
const inTime = { timeoutMs: 30_000 }

async function failing(fault: Fault, options: Partial<ClientOptions> = {}): Promise<unknown> {
  const baseUrl = await startFaultyProxy(service.base, fault)
  const client = new Client({
    baseUrl,
    apiKey: testKey.key,
    timeoutMs: 300,
    maxRetries: 1,
    ...options,
  })
  return client.candidates.search({ q: 'ada' }).then(
    () => assert.fail('it must fail'),
    (error: unknown) => error,
  )
}

test('a server that never answers, or never ends its body, is given up in time', async () => {
  const startedAt = performance.now()
  assert.ok((await failing(() => {})) instanceof TimeoutError)
  assert.ok(
    (await failing((_, response) => void response.writeHead(200).write('{"a":'))) instanceof
      TimeoutError,
  )
  assert.ok(performance.now() - startedAt < 10_000)
})

test('a redirect is not followed, so the key stays with the service', async () => {
  let asked = 0
  const elsewhere = await startFaultyProxy(service.base, (_, response) => {
    asked++
    response.end('{}')
  })
  const fault = await failing(
    (_, response) => void response.writeHead(307, { Location: elsewhere }).end(),
    inTime,
  )
  assert.equal((fault as ConnectionError).error, 'redirect_refused')
  assert.equal(asked, 0)
})

test('an error of 10 MB and an answer of 20 MB are not read to their end', async () => {
  let sent = 0
  const flood =
    (status: number, megabytes: number): Fault =>
    (_, response) => {
      response.writeHead(status)
      const chunk = Buffer.alloc(1024 * 1024, 32)
      const more = (): void => {
        if (response.destroyed || sent >= megabytes) return void response.end()
        sent++
        response.write(chunk, more)
      }
      more()
    }
  assert.ok(
    (await failing(flood(500, 10), { ...inTime, maxRetries: 0 })) instanceof UnavailableError,
  )
  assert.ok(sent < 10, `${sent} MB of the error were sent`)
  sent = 0
  const options = { ...inTime, maxRetries: 0 }
  assert.equal(
    ((await failing(flood(200, 40), options)) as ConnectionError).error,
    'invalid_answer',
  )
  assert.ok(sent < 40, `${sent} MB of the answer were sent`)
})

test('a Retry-After beyond the time limit is an error at once; a shorter one is waited for', async () => {
  let calls = 0
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
  for (const [header, least, most] of [
    ['60', 60, 60],
    [inAnHour, 3_500, 3_600],
  ] as const) {
    calls = 0
    const long = await failing((_, response) => {
      calls++
      response.writeHead(429, { 'Retry-After': header }).end('{"error":"rate_limited"}')
    }, inTime)
    assert.ok(long instanceof RateLimitError)
    const { retryAfterSeconds } = long
    assert.ok(retryAfterSeconds !== null && retryAfterSeconds >= least && retryAfterSeconds <= most)
    assert.equal(calls, 1)
  }
  const at: number[] = []
  const keys = new Set<unknown>()
  const baseUrl = await startFaultyProxy(service.base, (request, response) => {
    at.push(performance.now())
    keys.add(request.headers['idempotency-key'])
    if (at.length === 2) response.end('{"candidates":[]}')
    else response.writeHead(503, { 'Retry-After': '1' }).end('{"error":"overloaded"}')
  })
  const client = new Client({ baseUrl, apiKey: testKey.key })
  assert.deepEqual(await client.candidates.search({ q: 'ada' }), { candidates: [] })
  const [first = 0, second = 0] = at
  assert.ok(second - first >= 990, `${second - first} ms`)
  assert.equal(keys.size, 1)
})

test('no error tells the key, also if the server repeats it', async () => {
  for (const fault of [
    (request, response) =>
      void response
        .writeHead(400, {
          'X-Request-Id': String(request.headers.authorization),
          Link: `</docs/${request.headers.authorization}>; rel="help"`,
        })
        .end(JSON.stringify({ error: 'bad_request', message: request.headers.authorization })),
    (request, response) =>
      void response.writeHead(200).end(`<p>${request.headers.authorization}</p>`),
    (request, response) =>
      void response.writeHead(307, { Location: `/${request.headers.authorization}` }).end(),
    (request) => void request.socket.destroy(),
    () => {},
  ] as Fault[]) {
    const error = await failing(fault)
    assert.ok(error instanceof Error)
    assert.ok(!inspect(error, { depth: 10 }).includes(testKey.key))
    assert.ok(!String(error.stack).includes(testKey.key))
    for (const name of ['error', 'status', 'requestId', 'docsUrl']) assert.ok(name in error, name)
  }
  assert.ok(!inspect(sandbox, { depth: 10, showHidden: true }).includes(testKey.key))
})

test('a caller can end a call, and it ends with the reason of the caller', async () => {
  const ending = new AbortController()
  const baseUrl = await startFaultyProxy(service.base, () =>
    ending.abort(new Error('no longer needed')),
  )
  const client = new Client({ baseUrl })
  await assert.rejects(
    client.skills.list({ signal: ending.signal }).withResponse(),
    /no longer needed/,
  )
})

test('a wrong address, a wrong key and a live key in the sandbox are refused before any call', () => {
  for (const options of [
    { baseUrl: 'ftp://scores.example.org' },
    { baseUrl: 'scores.example.org' },
    { baseUrl: 'https://user:secret@scores.example.org' },
    { baseUrl: 'https://scores.example.org', apiKey: 'Bearer svc_live_x' },
    { baseUrl: 'https://scores.example.org', apiKey: 'svc_live_x', sandbox: true },
  ])
    assert.throws(() => new Client(options), { name: 'TypeError', message: /https?:|svc_test_…/ })
})

test('a host with several addresses that refuse is named by its code', async () => {
  const cause = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  const client = new Client({
    baseUrl: 'http://localhost',
    maxRetries: 0,
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
  })
  await assert.rejects(client.skills.list(), { message: 'No whole answer: ECONNREFUSED' })
})

const requirement = {
  scheme: 'exact',
  network: 'base-sepolia',
  maxAmountRequired: '10000',
  resource: 'ASKED',
  description: '',
  payTo: `0x${'1'.repeat(40)}`,
  asset: `0x${'2'.repeat(40)}`,
  extra: {},
}

test('a payment within the limits is made; any other challenge is refused before the wallet is asked', async () => {
  let signed = 0
  const pay = {
    maxAmount: 10_000n,
    networks: ['base-sepolia'],
    assets: [requirement.asset.toUpperCase().replace('0X', '0x')],
    header: async () => `payment ${++signed}`,
  }
  const answering = async (over: object): Promise<unknown> => {
    const baseUrl = await startFaultyProxy(service.base, (request, response) => {
      const resource = `http://${request.headers.host}${request.url}`
      if (request.headers['x-payment'] === `payment ${signed}` && signed > 0)
        response.end('{"candidates":[]}')
      else {
        const accepts = [{ ...requirement, resource, ...over }]
        response.writeHead(402).end(JSON.stringify({ x402Version: 1, accepts }))
      }
    })
    return new Client({ baseUrl, pay, maxRetries: 0 }).candidates.search({ q: 'ada', limit: 2 })
  }
  assert.deepEqual(await answering({}), { candidates: [] })
  assert.equal(signed, 1)
  for (const over of [
    { maxAmountRequired: '10001' },
    { amount: '10001' },
    { maxAmountRequired: '-1' },
    { network: 'base' },
    { asset: requirement.payTo },
    { resource: 'https://elsewhere.example/api/v1/candidates/search?q=ada&limit=2' },
    { resource: 'no address' },
  ])
    await assert.rejects(answering(over), PaymentRefusedError, JSON.stringify(over))
  assert.equal(signed, 1)
})

test('the example of the README signs with the client of @x402/fetch', async () => {
  const readme = readFileSync('packages/sdk/README.md', 'utf8')
  for (const line of ["from '@x402/fetch'", 'createPaymentPayload', 'encodePaymentSignatureHeader'])
    assert.ok(readme.includes(line), line)
  const signer = privateKeyToAccount(`0x${'1'.repeat(64)}`)
  const wallet = registerExactEvmScheme(new x402Client(), { signer })
  const http = new x402HTTPClient(wallet)
  const asset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
  const baseUrl = await startFaultyProxy(service.base, (request, response) => {
    const paid = request.headers['x-payment']
    const resource = `http://${request.headers.host}${request.url}`
    const extra = { name: 'USDC', version: '2' }
    const accepts = [{ ...requirement, asset, resource, extra, maxTimeoutSeconds: 300 }]
    if (paid === undefined) response.writeHead(402).end(JSON.stringify({ x402Version: 1, accepts }))
    else response.end(Buffer.from(String(paid), 'base64'))
  })
  const header: Payer['header'] = async (challenge) => {
    const payment = await wallet.createPaymentPayload(challenge as unknown as PaymentRequired)
    return Object.values(http.encodePaymentSignatureHeader(payment))[0] ?? ''
  }
  const pay = { maxAmount: 10_000n, networks: ['base-sepolia'], assets: [asset], header }
  const echoed: unknown = await new Client({ baseUrl, pay }).scores.get('a')
  const { scheme, payload } = echoed as {
    scheme: string
    payload: { authorization: { from: string; value: string } }
  }
  assert.equal(scheme, 'exact')
  assert.equal(payload.authorization.from, signer.address)
  assert.equal(payload.authorization.value, '10000')
})

test('the feed is followed from any position, and each event comes with its cursor', async () => {
  const pages = [
    { events: [{ id: 'evt_1' }, { id: 'evt_2' }], positions: [1, 2], next: '2', hasMore: true },
    { events: [], positions: [], next: '2', hasMore: false },
    { events: [{ id: 'evt_3' }], positions: [3], next: '3', hasMore: false },
  ]
  const asked: string[] = []
  const baseUrl = await startFaultyProxy(service.base, (request, response) => {
    asked.push(new URL(request.url ?? '', 'http://x').searchParams.get('after') ?? '')
    response.end(JSON.stringify(pages.shift()))
  })
  const client = new Client({ baseUrl, apiKey: testKey.key })
  const heard: string[] = []
  for await (const { event, next } of client.webhooks.listen({ after: '0', pollMs: 1 })) {
    heard.push(`${event.id} ${next}`)
    if (heard.length === 3) break
  }
  assert.deepEqual(heard, ['evt_1 1', 'evt_2 2', 'evt_3 3'])
  assert.deepEqual(asked, ['0', '2', '2'])
})

test('an abort ends the feed at once and without an error: in the loop, during a call, and during a wait', async () => {
  const ending = {
    loop: new AbortController(),
    call: new AbortController(),
    wait: new AbortController(),
  }
  const reads: Record<string, number> = {}
  const baseUrl = await startFaultyProxy(service.base, (request, response) => {
    const part = request.url?.split('/')[1] ?? ''
    reads[part] = (reads[part] ?? 0) + 1
    if (part === 'call') return ending.call.abort()
    const positions = part === 'loop' ? Array.from({ length: 100 }, (_, i) => i + 1) : []
    const events = positions.map((position) => ({ id: `evt_${position}` }))
    response.end(JSON.stringify({ events, positions, next: '100', hasMore: false }))
    if (part === 'wait') setImmediate(() => ending.wait.abort())
  })
  for (const [part, controller] of Object.entries(ending)) {
    const client = new Client({ baseUrl: `${baseUrl}/${part}`, apiKey: testKey.key })
    let heard = 0
    for await (const _ of client.webhooks.listen({ signal: controller.signal, pollMs: 60_000 })) {
      heard++
      if (part === 'loop') controller.abort()
    }
    assert.deepEqual([heard, reads[part]], [part === 'loop' ? 1 : 0, 1], part)
  }
  const client = new Client({ baseUrl, apiKey: testKey.key })
  const before = client.webhooks.listen({ signal: AbortSignal.abort() })
  assert.deepEqual(await before.next(), { done: true, value: undefined })
})

test('an id that would name another path is refused before a call', async () => {
  const client = new Client({ baseUrl: service.base, apiKey: testKey.key })
  for (const id of ['', '.', '..'])
    for (const call of [
      () => client.candidates.get(id),
      () => client.candidates.credential(`@${id}`),
      () => client.scores.get(id),
      () => client.scores.credential(id),
      () => client.skills.get(id),
      () => client.skills.notes(id),
      () => client.issuer.statusList(id),
      () => client.webhooks.endpoints.disable(id),
    ])
      assert.throws(call, TypeError, `${id} ${String(call)}`)
  assert.throws(() => client.scores.get(undefined as never), /scoreId is undefined/)
})

const body = '{"id":"evt_1","type":"score.updated"}'

test('webhooks: a delivery is genuine if one of its three signatures fits one of the secrets', async () => {
  const [old, next, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()]
  const name = 'Service-Webhook-Signature'
  const by = async (secret: string) => (await signTestWebhook(body, secret))[name] ?? ''
  const announced = { [name]: await by(old), [`${name}-Next`]: await by(next) }
  const replaced = { [name.toLowerCase()]: await by(next), [`${name}-Previous`]: await by(old) }
  for (const headers of [announced, replaced, new Headers(announced)]) {
    for (const secret of [old, next, [other, next], [old]])
      assert.equal(await verifyWebhook(body, headers, secret), true)
    for (const secret of [other, [other]])
      assert.equal(await verifyWebhook(body, headers, secret), false)
    assert.equal(await verifyWebhook(`${body} `, headers, [old, next]), false)
  }
})

test('webhooks: a missing secret and a parsed body are mistakes of the program, and say what to give', async () => {
  const headers = await signTestWebhook(body, 'null')
  for (const secret of [undefined, null, '', ' ', [], ['whsec_a', ''], 7]) {
    const verifying = verifyWebhook(body, headers, secret as never)
    await assert.rejects(verifying, { name: 'TypeError', message: /secret is missing.*whsec_/ })
    await assert.rejects(signTestWebhook(body, secret as never), TypeError)
  }
  for (const parsed of [JSON.parse(body), null, undefined, new ArrayBuffer(2)])
    await assert.rejects(verifyWebhook(parsed as never, headers, 'whsec_a'), {
      name: 'TypeError',
      message: /neither text nor bytes.*express\.raw/,
    })
})

test('webhooks: a test delivery has every header of a real one, and Standard Webhooks accepts it', async () => {
  const secret = newWebhookSecret()
  assert.match(secret, /^whsec_[A-Za-z0-9]{43}$/)
  const signed = await signTestWebhook(body, secret, { attempt: 2, sequence: 7, isTest: true })
  const { eventId, ...attempt } = { eventId: 'evt_1', eventType: 'score.updated', body }
  const real = attemptHeaders(
    { ...attempt, id: randomUUID(), eventId, attempt: 2, isTest: true, position: 7 },
    { current: secret },
    new Date(Number(signed['webhook-timestamp']) * 1_000),
  )
  const delivery = signed['Service-Webhook-Delivery']
  assert.deepEqual({ ...real, 'Service-Webhook-Delivery': delivery }, signed)
  assert.deepEqual(new Webhook(secret).verify(body, signed), JSON.parse(body))
})

test('webhooks: the signatures of the published vectors, and of our own test header', async () => {
  const { signatures } = JSON.parse(readFileSync('vectors/webhook-signatures.json', 'utf8'))
  for (const { name, body, header, secret, nowSeconds, valid } of signatures) {
    const now = new Date(nowSeconds * 1_000)
    const headers = { 'service-webhook-signature': header }
    assert.equal(await verifyWebhook(body, headers, secret, { now }), valid, name)
  }
  const headers = new Headers(await signTestWebhook('{}', 'whsec_test'))
  assert.equal(await verifyWebhook(Buffer.from('{}'), headers, 'whsec_test'), true)
  assert.equal(await verifyWebhook('{ }', headers, 'whsec_test'), false)
})

test('an error value of tomorrow is an error of its family', async () => {
  const error = await failing((_, response) => {
    response.writeHead(409).end('{"error":"new_conflict"}')
  }, inTime)
  assert.ok(error instanceof ConflictError && error instanceof AnswerError)
  assert.equal(error.error, 'new_conflict')
})
